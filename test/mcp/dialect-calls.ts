import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { checkArguments, type Dialect, type DialectName } from '../../src/dialect/tool.ts';
import { loadDialect } from '../../src/mcp/serve.ts';
import { ClientCall } from '../../src/model/call.ts';
import type { Policy } from '../../src/model/policy.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { createToolHost } from '../../src/tools/tool-host.ts';
import { scratch } from '../support/tree.ts';
import { resultOf } from '../support/written.ts';

export type Call = readonly [tool: string, args: Readonly<Record<string, unknown>>];

/**
 * The operations that the tests use, each as a call in one dialect (a family of tool names and
 * arguments).
 */
export interface Spelling {
  readonly read: (path: string) => Call;
  readonly readFirstLine: (path: string) => Call;
  readonly write: (path: string, content: string) => Call;
  readonly edit: (path: string, old: string, now: string) => Call;
}

const EDITOR = 'str_replace_based_edit_tool';
export const SPELLINGS: Readonly<Record<Exclude<DialectName, 'apply-patch'>, Spelling>> = {
  lookfirst: {
    read: (path) => ['read_file', { path }],
    readFirstLine: (path) => ['read_file', { path, limit: 1 }],
    write: (path, content) => ['write_file', { path, content }],
    edit: (path, old, now) => ['edit_file', { path, old_string: old, new_string: now }],
  },
  sandbox: {
    read: (path) => ['Read', { file_path: path }],
    readFirstLine: (path) => ['Read', { file_path: path, limit: 1 }],
    write: (path, content) => ['Write', { file_path: path, content }],
    edit: (path, old, now) => ['Edit', { file_path: path, old_string: old, new_string: now }],
  },
  lace: {
    read: (path) => ['file_read', { path }],
    readFirstLine: (path) => ['file_read', { path, startLine: 1, endLine: 1 }],
    write: (path, content) => ['file_write', { path, content }],
    edit: (path, old, now) => ['file_edit', { path, edits: [{ old_text: old, new_text: now }] }],
  },
  filesystem: {
    read: (path) => ['read_text_file', { path }],
    readFirstLine: (path) => ['read_text_file', { path, head: 1 }],
    write: (path, content) => ['write_file', { path, content }],
    edit: (path, old, now) => ['edit_file', { path, edits: [{ oldText: old, newText: now }] }],
  },
  'text-editor': {
    read: (path) => [EDITOR, { command: 'view', path }],
    readFirstLine: (path) => [EDITOR, { command: 'view', path, view_range: [1, 1] }],
    write: (path, content) => [EDITOR, { command: 'create', path, file_text: content }],
    edit: (path, old, now) => [EDITOR, { command: 'str_replace', path, old_str: old, new_str: now }],
  },
  anthropic: {
    read: (path) => ['read', { file_path: path }],
    readFirstLine: (path) => ['read', { file_path: path, view_range: [1, 1] }],
    write: (path, content) => ['write', { file_path: path, content }],
    edit: (path, old, now) => ['edit', { file_path: path, old_string: old, new_string: now }],
  },
};
export const NAMES = Object.keys(SPELLINGS) as (keyof typeof SPELLINGS)[];

/** A session that is called through the tools of one dialect. */
export interface Opened {
  readonly root: string;
  readonly dialect: Dialect;
  call(call: Call): Promise<{ text: string; code: string | undefined }>;
  put(file: string, content: string | Uint8Array): void;
  /** Moves the session's clock forward. */
  later(ms: number): void;
  readonly say: Spelling;
}

export async function open(name: keyof typeof SPELLINGS, policy: Partial<Policy> = {}): Promise<Opened> {
  const { root, home } = scratch();
  let nowMs = Date.now();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:', policy, now: () => nowMs });
  onTestFinished(() => sessions.close());
  const dialect = await loadDialect(name);
  const host = createToolHost({
    open: async () => sessions,
    dialect,
    readOnly: false,
    version: '1',
    log: () => {},
  });
  const call = async ([tool, args]: Call) => {
    const context = {
      signal: new AbortController().signal,
      meta: {},
      era: 'modern',
      clientInfo: undefined,
      sessionHint: undefined,
      times: new ClientCall(),
      progress: () => {},
    } as const;
    const answer = await host.call(tool, args, context);
    context.times.answered();
    if (!answer.ok) return { text: answer.text, code: answer.outcome.code };
    const [block] = resultOf(host, tool, answer)['content'] as { text?: string }[];
    return { text: block?.text ?? '', code: undefined };
  };
  const put = (file: string, content: string | Uint8Array) => writeFileSync(join(root, file), content);
  const later = (ms: number) => {
    nowMs += ms;
  };
  return { root, dialect, call, put, later, say: SPELLINGS[name] };
}

/** Every call that a text names: a tool and its arguments as JSON. */
export function callsIn(text: string): Call[] {
  return [...text.matchAll(/\b(\w+) (\{"[^\n]*?\})(?=[\s,.;]|$)/g)].map(([, tool = '', args = '']) => [
    tool,
    JSON.parse(args),
  ]);
}

/** The reason why a dialect does not accept a call; undefined if it does. */
export function whyNotCallable({ tools }: Dialect, [name, args]: Call): string | undefined {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) return `there is no ${name}`;
  const checked = checkArguments(tool.inputSchema, args, 'refuse');
  return 'reason' in checked ? checked.reason : undefined;
}
