import { LOOKFIRST_TOOLS } from '../../report/tool-names.ts';
import { commandTool } from '../command-tool.ts';
import type { Dialect } from '../tool.ts';
import { CHANGING_TOOLS, CLAIM_TOOLS } from './changing-tools.ts';
import { LOOKING_TOOLS } from './looking-tools.ts';

/** The default dialect. */
export const LOOKFIRST: Dialect = {
  name: 'lookfirst',
  tools: [...LOOKING_TOOLS, ...CHANGING_TOOLS, commandTool('run_command', 'timeout_ms'), ...CLAIM_TOOLS],
  names: LOOKFIRST_TOOLS,
  unknownArguments: 'refuse',
  terms: {},
  instructions:
    'Files here change only after you have looked. 1. read_file (all pages) before write_file; any read before edit_file. ' +
    '2. Change with edit_file; write_file is for new or wholly rewritten files; apply_changes changes many files, all or none. ' +
    '3. A refusal says what changed and names the next call: make that call, do not repeat the same one. ' +
    'undo_change takes back a change; file_status tells what you have seen. Paths are relative to the workspace.',
};
