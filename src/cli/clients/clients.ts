import { CLAUDE_CODE } from './claude-code.ts';
import { CLAUDE_DESKTOP } from './claude-desktop.ts';
import type { Client, ClientName } from './client.ts';
import { CODEX } from './codex.ts';
import { CURSOR } from './cursor.ts';
import { GEMINI } from './gemini.ts';
import { OPENCODE } from './opencode.ts';
import { VSCODE } from './vscode.ts';
import { ZED } from './zed.ts';

/** Every client `init` knows. */
export const CLIENTS: { readonly [name in ClientName]: Client } = {
  'claude-code': CLAUDE_CODE,
  'claude-desktop': CLAUDE_DESKTOP,
  codex: CODEX,
  gemini: GEMINI,
  cursor: CURSOR,
  vscode: VSCODE,
  zed: ZED,
  opencode: OPENCODE,
};

/** The client of a name somebody typed. */
export function clientNamed(name: string): Client | undefined {
  return Object.values(CLIENTS).find((client) => client.name === name);
}
