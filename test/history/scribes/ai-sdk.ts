import { ownArguments, ownText, type ScribeKind } from '../scribe.ts';
import { ListScribe, type ListWords } from './list.ts';

const WORDS: ListWords = {
  call(call) {
    const { name: toolName, args: input } = ownArguments(call);
    return { role: 'assistant', content: [{ type: 'tool-call', toolCallId: call.id, toolName, input }] };
  },
  result(calls, step) {
    const type = { ok: 'text', blank: 'text', error: 'error-text', denied: 'execution-denied' }[
      step.is ?? 'ok'
    ];
    const output = { type, value: ownText(calls, step) };
    const part = { type: 'tool-result', toolCallId: step.id, toolName: 'read_file', output };
    return { role: 'tool', content: [part] };
  },
  list: (messages) => ({ messages: [{ role: 'user', content: 'go' }, ...messages] }),
};

/** Writes conversations as messages of the Vercel AI SDK. */
export const AI_SDK: ScribeKind = { format: 'ai-sdk', name: 'ai-sdk', open: () => new ListScribe(WORDS) };
