import type { HostName } from '../../config/hook-flags.ts';
import type { Host } from '../event.ts';
import { claudeFamily } from './claude-family.ts';
import { CURSOR } from './cursor.ts';
import { GEMINI_HOST } from './gemini.ts';
import { GENERIC } from './generic.ts';
import { OPENCODE } from './opencode.ts';

const CLAUDE_CODE = claudeFamily({
  name: 'claude-code',
  projectVariable: 'CLAUDE_PROJECT_DIR',
  turnField: 'prompt_id',
  compaction: 'PostCompact',
});

const CODEX = claudeFamily({
  name: 'codex',
  turnField: 'turn_id',
  compaction: 'PostCompact',
  // Codex shows `Command blocked by PreToolUse hook: REASON. Command: TEXT`.
  addsStop: true,
});

const VSCODE = claudeFamily({ name: 'vscode', compaction: 'PreCompact' });

/** Every agent program with hooks, by the name that `lookfirst hook` takes. */
export const HOOK_HOSTS: Readonly<Record<HostName, Host>> = {
  'claude-code': CLAUDE_CODE,
  codex: CODEX,
  gemini: GEMINI_HOST,
  cursor: CURSOR,
  vscode: VSCODE,
  opencode: OPENCODE,
  generic: GENERIC,
};
