import * as ai7 from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import * as ai6 from 'ai6';
import { MockLanguageModelV3 } from 'ai6/test';
import type { Session } from 'lookfirst';
import { lookfirstTools, seenFrom } from 'lookfirst/ai-sdk';
import type { Door, Run, Shown } from '../conformance.ts';
import { LOOKFIRST_CALLS } from './calls.ts';

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The answers of a scripted model, one for each step, then its final text. */
export function script(steps: Run['steps']): () => {
  content: (
    | { type: 'text'; text: string }
    | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }
  )[];
  finishReason: { unified: 'stop' | 'tool-calls'; raw: undefined };
  usage: typeof USAGE;
  warnings: [];
} {
  const left = [...steps];
  let calls = 0;
  return () => {
    let step = left.shift();
    while (typeof step === 'function') {
      step();
      step = left.shift();
    }
    const made = (step ?? []).map(({ tool, args }) => {
      calls += 1;
      return {
        type: 'tool-call' as const,
        toolCallId: `c${calls}`,
        toolName: tool,
        input: JSON.stringify(args),
      };
    });
    const ended = made.length === 0;
    return {
      content: ended ? [{ type: 'text', text: 'done' }] : made,
      finishReason: { unified: ended ? 'stop' : 'tool-calls', raw: undefined },
      usage: USAGE,
      warnings: [],
    };
  };
}

/**
 * The parts of a prompt that these tests read. They are the same in versions 6 and 7 of the SDK.
 */
interface Prompted {
  readonly role: string;
  readonly content: unknown;
}
interface Output {
  readonly type: string;
  readonly value:
    | string
    | readonly { readonly type: string; readonly text?: string; readonly mediaType?: string }[];
}

export function shownIn(prompt: readonly Prompted[]): Shown[] {
  const results = prompt.flatMap(({ role, content }) =>
    role === 'tool' && Array.isArray(content) ? (content as { output: Output }[]) : [],
  );
  return results.map(({ output: { type, value } }) => {
    if (typeof value === 'string') return { text: value, flagged: type.startsWith('error') };
    const media = value.flatMap((part) => (part.mediaType === undefined ? [] : [part.mediaType]));
    return { text: value.map((part) => part.text ?? '').join(''), flagged: false, media };
  });
}

/**
 * Runs an agent until the script ends. Returns the results of the calls, as the last prompt
 * contains them.
 */
type Runner = (run: Run, context?: 'pruned') => Promise<readonly Shown[]>;

/** Pruning that removes tool calls and results from all messages but the last two. */
const PRUNING = { toolCalls: 'before-last-2-messages' } as const;

const run6: Runner = async ({ session, steps, signal }, context) => {
  const answer = script(steps);
  const model = new MockLanguageModelV3({ doGenerate: async () => answer() });
  const prune = ({ messages }: { messages: ai6.ModelMessage[] }) => ({
    messages: ai6.pruneMessages({ messages, ...PRUNING }),
  });
  await ai6.generateText({
    model,
    tools: lookfirstTools(session),
    prompt: 'go',
    stopWhen: ai6.stepCountIs(20),
    prepareStep: context === 'pruned' ? seenFrom(session, prune) : seenFrom(session),
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  return shownIn(model.doGenerateCalls.at(-1)?.prompt ?? []);
};

const run7: Runner = async ({ session, steps, signal }, context) => {
  const answer = script(steps);
  const model = new MockLanguageModelV4({ doGenerate: async () => answer() });
  const prune = ({ messages }: { messages: ai7.ModelMessage[] }) => ({
    messages: ai7.pruneMessages({ messages, ...PRUNING }),
  });
  await ai7.generateText({
    model,
    tools: lookfirstTools(session),
    prompt: 'go',
    stopWhen: ai7.isStepCount(20),
    prepareStep: context === 'pruned' ? seenFrom(session, prune) : seenFrom(session),
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  return shownIn(model.doGenerateCalls.at(-1)?.prompt ?? []);
};

function door(name: string, run: Runner): Door {
  const { read, write } = LOOKFIRST_CALLS;
  return {
    name,
    calls: LOOKFIRST_CALLS,
    run,
    tools: (session: Session) => Object.keys(lookfirstTools(session)),
    compacts: async (place) => {
      const steps = [[read('a.txt')], [read('b.txt')], [write('a.txt', 'two\n')]];
      return (await run({ ...place, steps }, 'pruned')).at(-1);
    },
    flags: true,
    images: true,
  };
}

export const AI_SDK_6: Door = door('AI SDK 6', run6);
export const AI_SDK_7: Door = door('AI SDK 7', run7);
