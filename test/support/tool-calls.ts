import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { DialectName } from '../../src/dialect/tool.ts';
import { loadDialect } from '../../src/mcp/serve.ts';
import { ClientCall } from '../../src/model/call.ts';
import type { JsonRecord } from '../../src/model/record.ts';
import type { WorkspaceOptions } from '../../src/session/sessions.ts';
import { Sessions } from '../../src/session/sessions.ts';
import type { ChoiceOptions } from '../../src/tools/session-choice.ts';
import type { ToolContext } from '../../src/tools/tool-answer.ts';
import { createToolHost, type ToolHost } from '../../src/tools/tool-host.ts';
import { scratch } from './tree.ts';
import { resultOf } from './written.ts';

interface Setup {
  readonly dialect?: DialectName;
  readonly workspace?: Partial<WorkspaceOptions>;
  readonly readOnly?: boolean;
  readonly choice?: ChoiceOptions;
}

interface Called {
  readonly text: string;
  readonly isError: boolean;
  readonly outcome: Record<string, unknown> | undefined;
  readonly result: Record<string, unknown>;
}

export interface ToolCalls {
  readonly root: string;
  readonly host: ToolHost;
  readonly sessions: Sessions;
  /** The lines that the tool host has logged. */
  readonly lines: readonly string[];
  call(name: string, args?: JsonRecord, more?: Partial<ToolContext>): Promise<Called>;
  put(name: string, content: string | Uint8Array): void;
  text(name: string): string;
}

/**
 * One family of tools (dialect) on a workspace of its own. The workspace is closed when the test
 * ends.
 */
export async function setUp({
  dialect = 'lookfirst',
  workspace = {},
  readOnly = false,
  choice = {},
}: Setup = {}): Promise<ToolCalls> {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:', ...workspace });
  onTestFinished(() => sessions.close());
  const lines: string[] = [];
  const host = createToolHost({
    open: async () => sessions,
    dialect: await loadDialect(dialect),
    readOnly,
    ...choice,
    version: '1.2.3',
    log: (line) => lines.push(line),
  });
  const call = async (name: string, args: JsonRecord = {}, more: Partial<ToolContext> = {}) => {
    const context: ToolContext = {
      signal: new AbortController().signal,
      meta: {},
      clientInfo: undefined,
      sessionHint: undefined,
      times: new ClientCall(),
      progress: () => {},
      ...more,
    };
    const result = resultOf(host, name, await host.call(name, args, context));
    context.times.answered();
    const [block] = result['content'] as { text?: string }[];
    const meta = result['_meta'] as Record<string, Record<string, unknown>>;
    return {
      text: block?.text ?? '',
      isError: result['isError'] === true,
      outcome: meta['dev.lookfirst/outcome'],
      result,
    };
  };
  const put = (name: string, content: string | Uint8Array) => writeFileSync(join(root, name), content);
  const text = (name: string) => readFileSync(join(root, name), 'utf8');
  return { root, host, call, put, text, lines, sessions };
}
