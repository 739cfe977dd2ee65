import type { Host, HostName } from '../event.ts';
import { claudeFamily } from './claude-family.ts';
import { CURSOR } from './cursor.ts';
import { GEMINI } from './gemini.ts';
import { GENERIC } from './generic.ts';
import { OPENCODE } from './opencode.ts';

const CLAUDE_CODE = claudeFamily({
  name: 'claude-code',
  tools: {
    read: 'Read',
    write: 'Write',
    edit: 'Edit',
    find: 'Glob',
    search: 'Grep',
    arguments: { path: 'file_path', from: 'offset', count: 'limit', replaceAll: 'replace_all' },
  },
  projectVariable: 'CLAUDE_PROJECT_DIR',
  turnField: 'prompt_id',
  compaction: 'PostCompact',
});

const CODEX = claudeFamily({
  name: 'codex',
  // Codex has no tool that reads: its model reads with shell commands.
  tools: {
    read: 'cat',
    write: 'apply_patch',
    edit: 'apply_patch',
    spelling: 'shell',
    arguments: { path: 'path' },
  },
  turnField: 'turn_id',
  compaction: 'PostCompact',
});

const VSCODE = claudeFamily({
  name: 'vscode',
  tools: {
    read: 'read_file',
    write: 'create_file',
    edit: 'replace_string_in_file',
    list: 'list_dir',
    find: 'file_search',
    search: 'grep_search',
    arguments: { path: 'filePath', from: 'startLine', to: 'endLine' },
  },
  compaction: 'PreCompact',
});

/** Every agent program with hooks, by the name that `lookfirst hook` takes. */
export const HOSTS: Readonly<Record<HostName, Host>> = {
  'claude-code': CLAUDE_CODE,
  codex: CODEX,
  gemini: GEMINI,
  cursor: CURSOR,
  vscode: VSCODE,
  opencode: OPENCODE,
  generic: GENERIC,
};
