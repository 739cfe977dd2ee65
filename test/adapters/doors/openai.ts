import {
  Agent,
  type AgentInputItem,
  type AgentOutputItem,
  applyPatchTool,
  type CallModelInputFilter,
  type Model,
  type ModelRequest,
  Runner,
  setTracingDisabled,
  type Tool,
  Usage,
} from '@openai/agents';
import type { Session } from 'lookfirst';
import { lookfirstEditor, lookfirstTools, seenFrom } from 'lookfirst/openai';
import { describe, expect, it } from 'vitest';
import { type Call, type Door, type Run, type Shown, workspace } from '../conformance.ts';
import { LOOKFIRST_CALLS } from './calls.ts';

setTracingDisabled(true);

/** A model that makes the calls of a script, and keeps the messages it received last. */
export class ScriptedModel implements Model {
  readonly #left: Run['steps'][number][];
  #calls = 0;
  input: readonly AgentInputItem[] = [];

  constructor(steps: Run['steps']) {
    this.#left = [...steps];
  }

  async getResponse({ input }: ModelRequest) {
    if (typeof input !== 'string') this.input = input;
    let step = this.#left.shift();
    while (typeof step === 'function') {
      step();
      step = this.#left.shift();
    }
    const output = (step ?? []).map((call) => {
      this.#calls += 1;
      return itemOf(call, `c${this.#calls}`);
    });
    const done: AgentOutputItem = {
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'done' }],
    };
    return { usage: new Usage(), output: output.length === 0 ? [done] : output };
  }

  // biome-ignore lint/correctness/useYield: nothing here is streamed.
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('nothing here is streamed');
  }
}

/** A function call, or a call of a tool that is built into the framework. */
function itemOf({ tool, args }: Call, callId: string): AgentOutputItem {
  // The casts are safe: the test writes calls of the framework's own tools in their exact form.
  if (tool === 'apply_patch')
    return { type: 'apply_patch_call', callId, status: 'completed', operation: args } as AgentOutputItem;
  if (tool === 'shell')
    return { type: 'shell_call', callId, status: 'completed', action: args } as AgentOutputItem;
  const text = args instanceof RawArguments ? args.text : JSON.stringify(args);
  return { type: 'function_call', callId, name: tool, arguments: text, status: 'completed' };
}

/** Arguments as the text that a model wrote, which need not be JSON. */
class RawArguments {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export function shownIn(items: readonly AgentInputItem[]): Shown[] {
  return items.flatMap((item): Shown[] => {
    if (item.type === 'apply_patch_call_output')
      return [{ text: item.output ?? '', flagged: item.status === 'failed' }];
    if (item.type === 'shell_call_output')
      return item.output.map(({ stdout, stderr, outcome }) => ({
        text: `${stdout}${stderr}`,
        flagged: outcome.type === 'exit' && outcome.exitCode !== 0,
      }));
    if (item.type !== 'function_call_result') return [];
    const { output } = item;
    if (typeof output === 'string') return [{ text: output, flagged: false }];
    const parts = Array.isArray(output) ? output : [output];
    const texts = parts.map((part) => ('text' in part ? part.text : ''));
    const media = parts.flatMap((part) =>
      /^(input_)?(image|file)$/.test(part.type) ? [mediaType(part)] : [],
    );
    return [{ text: texts.join(''), flagged: false, media }];
  });
}

/** The media type of an image, from its data URL: the framework passes images to the model as data URLs. */
function mediaType(part: object): string {
  return /data:([\w/+.-]+)/.exec(JSON.stringify(part))?.[1] ?? 'unknown';
}

export async function runAgent(
  { session, steps, signal }: Run,
  tools: Tool[],
  filter?: CallModelInputFilter,
): Promise<readonly Shown[]> {
  const model = new ScriptedModel(steps);
  const agent = new Agent({ name: 'scripted', model, tools });
  await new Runner({ callModelInputFilter: filter ?? seenFrom(session) }).run(agent, 'go', {
    maxTurns: 20,
    ...(signal === undefined ? {} : { signal }),
  });
  return shownIn(model.input);
}

/** From the third request on, omits the first call and its result, as a compaction does. */
function forgetting(session: Session): CallModelInputFilter {
  const seen = seenFrom(session);
  return ({ modelData }) => {
    const isOld = (item: AgentInputItem) => 'callId' in item && item.callId === 'c1';
    const input =
      modelData.input.length > 4 ? modelData.input.filter((item) => !isOld(item)) : modelData.input;
    return seen({ modelData: { ...modelData, input } });
  };
}

function compacts(tools: (session: Session) => Tool[], write: Call): NonNullable<Door['compacts']> {
  const { read } = LOOKFIRST_CALLS;
  return async (place) => {
    const steps = [[read('a.txt')], [read('b.txt')], [write]];
    return (await runAgent({ ...place, steps }, tools(place.session), forgetting(place.session))).at(-1);
  };
}

export const OPENAI: Door = {
  name: 'the OpenAI Agents SDK',
  calls: LOOKFIRST_CALLS,
  run: (run) => runAgent(run, lookfirstTools(run.session)),
  tools: (session) => lookfirstTools(session).map(({ name }) => name),
  compacts: compacts(lookfirstTools, LOOKFIRST_CALLS.write('a.txt', 'two\n')),
  flags: false,
  images: true,
};

const patching = (session: Session): Tool[] => [
  ...lookfirstTools(session, { dialect: 'apply-patch', readOnly: true }),
  applyPatchTool({ editor: lookfirstEditor(session) }),
];

const added = (content: string) => content.replace(/^(?!$)/gm, '+');
const update = (path: string, from: string, to: string): Call => ({
  tool: 'apply_patch',
  args: { type: 'update_file', path, diff: `@@\n-${from}\n+${to}\n` },
});

export const OPENAI_PATCH: Door = {
  name: 'the apply_patch tool of the OpenAI Agents SDK',
  calls: {
    read: LOOKFIRST_CALLS.read,
    write: (path, content) => ({
      tool: 'apply_patch',
      args: { type: 'create_file', path, diff: added(content) },
    }),
    edit: update,
  },
  run: (run) => runAgent(run, patching(run.session)),
  tools: (session) => patching(session).map(({ name }) => name),
  compacts: compacts(patching, { tool: 'apply_patch', args: { type: 'delete_file', path: 'a.txt' } }),
  flags: true,
  images: true,
};

export function argumentSuite(): void {
  describe('arguments that the OpenAI Agents SDK cannot parse', () => {
    it.each([
      ['malformed', '{"path": "a.txt",}}'],
      ['cut off', '{"path": "a.t'],
      ['empty', ''],
      ['not an object', '[1]'],
    ])('are refused if they are %s, and the run goes on', async (_what, text) => {
      const { root, session, put } = await workspace();
      put('a.txt', 'one\n');
      const wrong: Call = { tool: 'read_file', args: new RawArguments(text) };
      const run = { session, root, steps: [[wrong], [LOOKFIRST_CALLS.read('a.txt')]] };
      const shown = await runAgent(run, lookfirstTools(session));
      expect(shown[0]?.text).toMatch(/valid JSON|\[INVALID_ARGUMENT\]/);
      expect(shown[1]?.text).toContain('one');
    });
  });
}
