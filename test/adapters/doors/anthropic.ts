import Anthropic from '@anthropic-ai/sdk';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { Session } from 'lookfirst';
import { lookfirstTools, seenFrom } from 'lookfirst/anthropic';
import type { Door, Run, Shown } from '../conformance.ts';
import { LOOKFIRST_CALLS } from './calls.ts';

type Block = { readonly type: string; readonly [field: string]: unknown };
interface Body {
  readonly messages: readonly { readonly content: string | readonly Block[] }[];
}

/** A client whose server is a script: each request gets the next step. */
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

/** Each request carries what is new since the one before. */
function shownIn(requests: readonly Body[]): Shown[] {
  const blocks = requests.flatMap(({ messages }) =>
    messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content)),
  );
  const results = blocks.filter(({ type }) => type === 'tool_result');
  return [...new Map(results.map((block) => [block['tool_use_id'], block])).values()].map(
    ({ content, is_error: flag }) => {
      const flagged = flag === true;
      if (typeof content === 'string') return { text: content, flagged };
      // What this adapter sent: texts, and images or documents with their media type.
      const parts = content as { text?: string; source?: { media_type: string } }[];
      const media = parts.flatMap(({ source }) => (source === undefined ? [] : [source.media_type]));
      return { text: parts.map(({ text }) => text ?? '').join(''), flagged, media };
    },
  );
}

/** Runs a tool runner to its end. */
export async function runTools(
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

const { read, write } = LOOKFIRST_CALLS;

export const ANTHROPIC: Door = {
  name: 'the Anthropic SDK',
  calls: LOOKFIRST_CALLS,
  run: (run) => runTools(run, lookfirstTools(run.session)),
  tools: (session: Session) => lookfirstTools(session).map(({ name }) => name),
  compacts: async (place) => {
    const steps = [[read('a.txt')], [read('b.txt')], [write('a.txt', 'two\n')]];
    const cleared = { type: 'clear_tool_uses_20250919', cleared_tool_uses: 1, cleared_input_tokens: 9 };
    // The server reports the same edit again with every later answer.
    const edits = (request: number) =>
      request < 3 ? {} : { context_management: { applied_edits: [cleared] } };
    return (await runTools({ ...place, steps }, lookfirstTools(place.session), edits)).at(-1);
  },
  flags: true,
  images: true,
};
