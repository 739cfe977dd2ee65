import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { Session } from 'lookfirst';
import {
  lookfirstAgentToolset,
  lookfirstMemory,
  lookfirstTextEditor,
  lookfirstTools,
  seenFrom,
} from 'lookfirst/anthropic';
import { describe, expect, it } from 'vitest';
import { type Call, type Door, type Run, type Shown, workspace } from '../conformance.ts';
import { LOOKFIRST_CALLS } from './calls.ts';

type Block = { readonly type: string; readonly [field: string]: unknown };
interface Body {
  readonly messages: readonly { readonly content: string | readonly Block[] }[];
}

/** A client with a scripted server: each request gets the next step. */
function scripted(
  steps: Run['steps'],
  edits?: (request: number) => object,
): { client: Anthropic; requests: Body[] } {
  const left = [...steps];
  const requests: Body[] = [];
  let calls = 0;
  const answer = async (_url: unknown, init?: { body?: unknown }): Promise<Response> => {
    requests.push(JSON.parse(String(init?.body)));
    let step = left.shift();
    while (typeof step === 'function') {
      step();
      step = left.shift();
    }
    const uses = (step ?? []).map(({ tool, args }) => {
      calls += 1;
      return { type: 'tool_use', id: `c${calls}`, name: tool, input: args };
    });
    const message = {
      id: `m${requests.length}`,
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content: uses.length === 0 ? [{ type: 'text', text: 'done' }] : uses,
      stop_reason: uses.length === 0 ? 'end_turn' : 'tool_use',
      usage: { input_tokens: 1, output_tokens: 1 },
      ...edits?.(requests.length),
    };
    return new Response(JSON.stringify(message), { headers: { 'content-type': 'application/json' } });
  };
  return { client: new Anthropic({ apiKey: 'none', fetch: answer, maxRetries: 0 }), requests };
}

/** The last result of each tool call. Each request repeats the results of the earlier requests. */
function shownIn(requests: readonly Body[]): Shown[] {
  const blocks = requests.flatMap(({ messages }) =>
    messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content)),
  );
  const results = blocks.filter(({ type }) => type === 'tool_result');
  return [...new Map(results.map((block) => [block['tool_use_id'], block])).values()].map(
    ({ content, is_error: flag }) => {
      const flagged = flag === true;
      if (typeof content === 'string') return { text: content, flagged };
      // The content that this adapter sent: texts, and images or documents with their media type.
      const parts = content as { text?: string; source?: { media_type: string } }[];
      const media = parts.flatMap(({ source }) => (source === undefined ? [] : [source.media_type]));
      return { text: parts.map(({ text }) => text ?? '').join(''), flagged, media };
    },
  );
}

/** Runs a tool runner to its end. */
async function runTools(
  { session, steps, signal }: Run,
  tools: BetaRunnableTool[],
  edits?: (request: number) => object,
): Promise<readonly Shown[]> {
  const { client, requests } = scripted(steps, edits);
  const seen = seenFrom(session);
  const runner = client.beta.messages.toolRunner(
    { model: 'scripted', max_tokens: 100, messages: [{ role: 'user', content: 'go' }], tools },
    signal === undefined ? {} : { signal },
  );
  for await (const message of runner) await seen(message, runner.params);
  return shownIn(requests);
}

const CLEARED = { type: 'clear_tool_uses_20250919', cleared_tool_uses: 1, cleared_input_tokens: 9 };
/** From the third answer on, the server has cleared the first tool result; it reports that with every answer. */
const clearing = (request: number): object =>
  request < 3 ? {} : { context_management: { applied_edits: [CLEARED] } };

type Tools = (session: Session, signal?: AbortSignal) => BetaRunnableTool[];

function door(name: string, calls: Door['calls'], tools: Tools): Door {
  return {
    name,
    calls,
    run: (run) => runTools(run, tools(run.session, run.signal)),
    tools: (session) => tools(session).map((tool) => tool.name),
    compacts: async (place) => {
      const steps = [[calls.read('a.txt')], [calls.read('b.txt')], [calls.write('a.txt', 'two\n')]];
      return (await runTools({ ...place, steps }, tools(place.session), clearing)).at(-1);
    },
    flags: true,
    images: true,
  };
}

export const ANTHROPIC: Door = door('the Anthropic SDK', LOOKFIRST_CALLS, (session) =>
  lookfirstTools(session),
);

const editing = (tool: string, folder = ''): Door['calls'] => ({
  read: (path) => ({ tool, args: { command: 'view', path: `${folder}${path}` } }),
  write: (path, text) => ({ tool, args: { command: 'create', path: `${folder}${path}`, file_text: text } }),
  edit: (path, from, to) => ({
    tool,
    args: { command: 'str_replace', path: `${folder}${path}`, old_str: from, new_str: to },
  }),
});

export const TEXT_EDITOR: Door = door(
  'the text editor tool of the Anthropic SDK',
  editing('str_replace_based_edit_tool'),
  (session) => [lookfirstTextEditor(session)],
);

export const MEMORY: Door = door(
  'the memory tool of the Anthropic SDK',
  editing('memory', '/memories/'),
  (session, signal) => [betaMemoryTool(lookfirstMemory(session, { signal }))],
);

export const AGENT_TOOLSET: Door = door(
  "the Anthropic SDK's agent toolset",
  {
    read: (path) => ({ tool: 'read', args: { file_path: path } }),
    write: (path, content) => ({ tool: 'write', args: { file_path: path, content } }),
    edit: (path, from, to) => ({ tool: 'edit', args: { file_path: path, old_string: from, new_string: to } }),
  },
  (session) => lookfirstAgentToolset(session),
);

export function memorySuite(): void {
  describe('the memory tool', () => {
    it('deletes and renames files below /memories only after they were read', async () => {
      const { root, session, put, text } = await workspace();
      put('a.md', 'tea\n');
      put('b.md', 'milk\n');
      const memory = (command: string, args: object): Call => ({
        tool: 'memory',
        args: { command, ...args },
      });
      const onto = memory('rename', { old_path: '/memories/a.md', new_path: '/memories/b.md' });
      const steps = [
        [memory('delete', { path: '/memories/a.md' })],
        [onto],
        [memory('view', { path: '/memories' })],
        [memory('view', { path: '/memories/b.md' })],
        [onto],
        [memory('view', { path: '/etc/passwd' })],
      ];
      const shown = await MEMORY.run({ session, root, steps });
      expect(shown.map(({ flagged }) => flagged)).toEqual([true, true, false, false, false, true]);
      expect(shown[0]?.text).toContain('Next: memory {"command":"view","path":"/memories/a.md"}');
      expect(shown[2]?.text).toContain('a.md');
      expect(shown[5]?.text).toContain('[OUTSIDE_WORKSPACE]');
      expect(text('b.md')).toBe('tea\n');
    });
  });

  describe('context editing', () => {
    it('allows a write after a new read, even if the server reports the same context edit again', async () => {
      const { root, session, put, text } = await workspace();
      put('a.txt', 'one\n');
      const { read, write } = LOOKFIRST_CALLS;
      const again = [[read('a.txt')], [write('a.txt', 'two\n')]];
      const steps = [[read('a.txt')], [read('b.txt')], ...again];
      await runTools({ session, root, steps }, lookfirstTools(session), clearing);
      expect(text('a.txt')).toBe('two\n');
    });
  });
}
