import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type HookInput, type Options, query } from '@anthropic-ai/claude-agent-sdk';
import { currentSession, runInSession, type Session, Sessions } from 'lookfirst';
import { lookfirstHooks, lookfirstServer, lookfirstTools } from 'lookfirst/claude-agent-sdk';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../support/tree.ts';
import { type Call, type Door, type Run, type Shown, workspace } from '../conformance.ts';
import { LOOKFIRST_CALLS } from './calls.ts';

interface Body {
  readonly model: string;
  readonly tools?: readonly unknown[];
  readonly messages: readonly { readonly content: string | readonly Result[] }[];
}
interface Result {
  readonly type: string;
  readonly is_error?: boolean;
  readonly content?:
    | string
    | readonly { readonly text?: string; readonly source?: { readonly media_type: string } }[];
}

/**
 * A scripted Anthropic API. Each request with tools gets the tool calls of the next step of the
 * script. Other requests, and all requests after the last step, get the answer "done".
 */
class ScriptedApi {
  readonly #left: Run['steps'][number][];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #calls = 0;
  last: Body | undefined;

  constructor(steps: Run['steps']) {
    this.#left = [...steps];
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body: Body = text === '' ? { model: '', messages: [] } : JSON.parse(text);
    const isAgent = (body.tools?.length ?? 0) > 0 && request.url?.includes('count_tokens') !== true;
    if (isAgent) this.last = body;
    const calls = isAgent ? this.#next() : [];
    const blocks = calls.map(({ tool, args }) => {
      this.#calls += 1;
      return { block: { type: 'tool_use', id: `toolu_${this.#calls}`, name: tool, input: {} }, args };
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (type: string, data: object) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = {
      id: `msg_${this.#calls}`,
      type: 'message',
      role: 'assistant',
      model: body.model,
      content: [],
    };
    send('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } });
    if (blocks.length === 0) {
      send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
      send('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'done' } });
      send('content_block_stop', { index: 0 });
    }
    for (const [index, { block, args }] of blocks.entries()) {
      send('content_block_start', { index, content_block: block });
      send('content_block_delta', {
        index,
        delta: { type: 'input_json_delta', partial_json: JSON.stringify(args) },
      });
      send('content_block_stop', { index });
    }
    const stop_reason = blocks.length === 0 ? 'end_turn' : 'tool_use';
    send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
    send('message_stop', {});
    response.end();
  }

  #next(): readonly Call[] {
    let step = this.#left.shift();
    while (typeof step === 'function') {
      step();
      step = this.#left.shift();
    }
    return step ?? [];
  }
}

function shownIn(body: Body | undefined): Shown[] {
  const blocks = (body?.messages ?? []).flatMap(({ content }) =>
    typeof content === 'string' ? [] : content,
  );
  const results = blocks.filter(({ type }) => type === 'tool_result');
  return results.map(({ content = '', is_error: flagged = false }) => {
    if (typeof content === 'string') return { text: content, flagged };
    const media = content.flatMap(({ source }) => (source === undefined ? [] : [source.media_type]));
    return { text: content.map(({ text }) => text ?? '').join('\n'), flagged, media };
  });
}

/** Runs Claude Code itself, with an empty home folder and the scripted API as its only server. */
async function runClaude({ root, steps, signal }: Run, options: Options): Promise<readonly Shown[]> {
  const api = new ScriptedApi(steps);
  const url = await api.open();
  const abortController = new AbortController();
  signal?.addEventListener('abort', () => abortController.abort());
  const env = {
    PATH: process.env['PATH'],
    HOME: join(root, '..', 'home'),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  };
  try {
    const common: Options = {
      cwd: root,
      env,
      settingSources: [],
      permissionMode: 'acceptEdits',
      abortController,
    };
    for await (const _ of query({ prompt: 'go', options: { ...common, ...options } }));
    return shownIn(api.last);
  } finally {
    api.close();
  }
}

const TOOL = 'mcp__lookfirst__';
const prefixed = ({ tool, args }: Call): Call => ({ tool: `${TOOL}${tool}`, args });
const { read, write, edit, undo } = LOOKFIRST_CALLS;

export const CLAUDE_SERVER: Door = {
  name: 'the Claude Agent SDK',
  calls: {
    read: (path) => prefixed(read(path)),
    write: (path, content) => prefixed(write(path, content)),
    edit: (path, from, to) => prefixed(edit(path, from, to)),
    undo: prefixed(undo),
  },
  run: (run) =>
    runClaude(run, {
      mcpServers: { lookfirst: lookfirstServer(run.session, { signal: run.signal }) },
      allowedTools: [`${TOOL}*`],
      tools: [],
    }),
  tools: (session: Session) => lookfirstTools(session).map(({ name }) => `${TOOL}${name}`),
  compacts: async ({ session, root }) => {
    await session.read('a.txt');
    // The test sends this event itself, as the SDK does after a compaction.
    await sender(session, root)('PostCompact', { trigger: 'auto', compact_summary: '' });
    const steps = [[prefixed(write('a.txt', 'two\n'))]];
    return (await CLAUDE_SERVER.run({ session, root, steps })).at(-1);
  },
  flags: true,
  images: true,
};

export function hooksSuite(): void {
  describe('the hooks of the Claude Agent SDK', () => {
    it("gate Claude Code's own tools and its shell", async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      const bash = { tool: 'Bash', args: { command: 'echo two > a.txt', description: 'write' } };
      const path = join(root, 'a.txt');
      const steps = [
        [bash],
        [{ tool: 'Read', args: { file_path: path } }],
        [{ tool: 'Edit', args: { file_path: path, old_string: 'one', new_string: 'two' } }],
      ];
      const tools = ['Bash', 'Read', 'Edit'];
      const options = { hooks: lookfirstHooks(session), tools, allowedTools: tools };
      const shown = await runClaude({ session, root, steps }, options);
      expect(shown[0]).toMatchObject({ flagged: true, text: expect.stringContaining('[NOT_READ]') });
      expect(shown[0]?.text).toContain(`Read {"file_path":`);
      expect(shown.slice(1).map(({ flagged }) => flagged)).toEqual([false, false]);
      expect(text('a.txt')).toBe('two\n');
      expect(await session.undo({})).toMatchObject({ ok: true });
      expect(text('a.txt')).toBe('one\n');
    });

    it('forget all reads at a compaction, and give each sub-agent its own session', async () => {
      const { root, session, put } = await workspace();
      put('a.txt', 'one\n');
      const send = sender(session, root);
      const overwrite = (input: object = {}) => send('PreToolUse', { ...WRITE(root), ...input });
      const shown = READ(root);
      expect(JSON.stringify(await overwrite())).toContain('[NOT_READ]');
      await send('PostToolUse', shown);
      expect(await overwrite({ agent_id: 'sub', tool_use_id: 'w2' })).toMatchObject(DENIED);
      await send('PostCompact', { trigger: 'auto', compact_summary: '' });
      expect(await overwrite({ tool_use_id: 'w3' })).toMatchObject(DENIED);
      await send('PostToolUse', shown);
      expect(await overwrite({ tool_use_id: 'w4' })).toEqual({});
    });

    it('resume a sub-agent for other hooks of the session, and close it with the session', async () => {
      const { root, session, put } = await workspace();
      put('a.txt', 'one\n');
      const sub = { agent_id: 'sub' };
      const [first, second] = [sender(session, root), sender(session, root)];
      await first('PostToolUse', { ...READ(root), ...sub });
      expect(await second('PreToolUse', { ...WRITE(root), ...sub })).toEqual({});
      const name = `${session.id}/sub`;
      expect(runInSession(name, () => currentSession().id)).toBe(name);
      await session.close();
      expect(() => runInSession(name, () => undefined)).toThrow('no open session');
    });

    it('give a sub-agent a new session if its main session was opened again', async () => {
      const { root, home } = scratch();
      let sessions = await Sessions.open({ roots: [root], home });
      let main = await sessions.session('main');
      const send = sender(() => main, root);
      const create = { ...WRITE(root), agent_id: 'sub' };
      expect(await send('PreToolUse', create)).toEqual({});
      await sessions.close();
      sessions = await Sessions.open({ roots: [root], home });
      main = await sessions.session('main');
      expect(await send('PreToolUse', { ...create, tool_use_id: 'w2' })).toEqual({});
      await sessions.close();
    });

    it('deny a change when the check itself fails', async () => {
      const { root, session } = await workspace();
      const send = sender(session, root);
      await session.close();
      expect(await send('PreToolUse', WRITE(root))).toMatchObject(DENIED);
      expect(await send('Stop', {})).toEqual({});
    });
  });
}

const DENIED = { hookSpecificOutput: { permissionDecision: 'deny' } };
const WRITE = (root: string) => ({
  tool_name: 'Write',
  tool_input: { file_path: join(root, 'a.txt'), content: 'two\n' },
  tool_use_id: 'w1',
});

const READ = (root: string) => {
  const filePath = join(root, 'a.txt');
  const file = { filePath, content: 'one\n', numLines: 2, startLine: 1, totalLines: 2 };
  return {
    tool_name: 'Read',
    tool_input: { file_path: filePath },
    tool_use_id: 'r',
    tool_response: { type: 'text', file },
  };
};

/** Returns a function that calls the hooks as the SDK does. */
function sender(session: Session | (() => Session), cwd: string) {
  const hooks = lookfirstHooks(session);
  return async (
    event: 'PreToolUse' | 'PostToolUse' | 'PostCompact' | 'Stop',
    fields: object,
  ): Promise<unknown> => {
    const input = { hook_event_name: event, session_id: 's', transcript_path: '', cwd, ...fields };
    const [hook] = hooks[event]?.[0]?.hooks ?? [];
    // The cast is safe: `input` has the fields that the SDK gives to this event.
    return hook?.(input as unknown as HookInput, undefined, { signal: new AbortController().signal });
  };
}
