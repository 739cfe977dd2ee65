import { defined } from '../model/record.ts';
import { objectOf } from '../model/shape.ts';
import { editTool, writeTool } from './claude-tools.ts';
import { commandTool } from './command-tool.ts';
import { type Dialect, flag, lookingTool, number, problem, string, type Tool } from './tool.ts';

const FILE = string('Absolute or workspace-relative path.');
const DEFAULT_GLOB_LIMIT = 100;

const EDIT = editTool({
  name: 'Edit',
  title: 'Edit',
  description:
    'Replace an exact string in a file that has been read. It must be there once, or set replace_all.',
  path: FILE.description,
  old: 'Text to replace; must not be empty.',
  all: 'Replace every occurrence (default false).',
});

const SANDBOX_TOOLS: readonly Tool[] = [
  lookingTool({
    name: 'Read',
    title: 'Read',
    description: 'Read a file. Returns numbered lines, "N<TAB>text".',
    inputSchema: objectOf(
      {
        file_path: FILE,
        offset: number('Line to start at, counted from 1 (default 1).'),
        limit: number('How many lines to return (default 2000).'),
      },
      ['file_path'],
    ),
    call: ({ file_path: path, offset, limit }) => ({
      kind: 'read',
      // The system that this dialect copies uses its defaults for an offset or limit below 1.
      operation: {
        path,
        ...defined({ offset: atLeastOne(offset), limit: atLeastOne(limit) }),
      },
    }),
  }),
  writeTool({
    name: 'Write',
    title: 'Write',
    description:
      'Create a file or replace all of it. An existing file must have been read. Creates missing folders.',
    path: FILE.description,
    content: 'The whole content; may be empty.',
  }),
  {
    ...EDIT,
    call: (args) => (args['old_string'] === '' ? problem('old_string must be non-empty') : EDIT.call(args)),
  },
  lookingTool({
    name: 'Glob',
    title: 'Glob',
    description: 'Find files by glob pattern, newest first. Leaves out what .gitignore names.',
    inputSchema: objectOf(
      {
        pattern: string('Glob, such as "**/*.go"; without "/" it matches base names.'),
        path: string('Folder to search in (default: the workspace).'),
        limit: number('How many paths to return (default 100).'),
      },
      ['pattern'],
    ),
    call: ({ limit, ...find }) => ({
      kind: 'find',
      operation: { ...find, limit: atLeastOne(limit) ?? DEFAULT_GLOB_LIMIT },
    }),
  }),
  lookingTool({
    name: 'Grep',
    title: 'Grep',
    description: 'Search file contents with a regular expression. Leaves out what .gitignore names.',
    inputSchema: objectOf(
      {
        pattern: string('Regular expression (Rust syntax).'),
        path: string('File or folder to search (default: the workspace).'),
        glob: string('Only files that match this glob.'),
        case_insensitive: flag('Match upper and lower case alike.'),
        output_mode: {
          type: 'string',
          enum: ['content', 'files_with_matches', 'count'],
          description: 'What to show (default content).',
        },
        head_limit: number('How many lines to return; 0 or absent: the default limit.'),
      },
      ['pattern'],
    ),
    call: ({ case_insensitive: ignoreCase, output_mode: mode = 'content', head_limit: head, ...search }) => ({
      kind: 'search',
      operation: { ...search, mode: MODES[mode], ...defined({ ignoreCase, limit: atLeastOne(head) }) },
    }),
  }),
];

const MODES = { content: 'lines', files_with_matches: 'files', count: 'count' } as const;

/** Rounds down and treats values below 1 as absent, like the system that this dialect copies. */
function atLeastOne(value: number | undefined): number | undefined {
  return value === undefined || value < 1 ? undefined : Math.floor(value);
}

/** The file tools of the system that the preset `sandbox` copies. */
export const SANDBOX: Dialect = {
  name: 'sandbox',
  tools: [...SANDBOX_TOOLS, commandTool('Bash', 'timeout')],
  names: {
    read: 'Read',
    write: 'Write',
    edit: 'Edit',
    find: 'Glob',
    search: 'Grep',
    arguments: { path: 'file_path', from: 'offset', count: 'limit', replaceAll: 'replace_all' },
  },
  unknownArguments: 'refuse',
  terms: {},
  instructions:
    'Files here change only after you have looked. Read a file before Write or Edit; a new file needs no Read. ' +
    'Change parts with Edit. A refusal says why and what to call next: do that instead of repeating the call.',
};
