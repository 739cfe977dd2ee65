import { ownArguments, ownText, type ScribeKind } from '../scribe.ts';
import { ListScribe, type ListWords } from './list.ts';

const message = (type: string, data: object): object => ({ type, data });

const WORDS: ListWords = {
  call(call) {
    const { name, args } = ownArguments(call);
    const tool_calls = [{ name, args, id: call.id, type: 'tool_call' }];
    return message('ai', { content: '', tool_calls });
  },
  result(calls, step) {
    const status = step.is === 'error' || step.is === 'denied' ? 'error' : 'success';
    return message('tool', { tool_call_id: step.id, content: ownText(calls, step), status });
  },
  list: (messages) => ({ values: { messages: [message('human', { content: 'go' }), ...messages] } }),
  compact: (kept) => [
    message('remove', { id: '__remove_all__', content: [] }),
    message('human', { content: 'Summary', additional_kwargs: { lc_source: 'summarization' } }),
    ...kept,
  ],
};

/** Writes conversations as stored messages of LangChain. */
export const LANGCHAIN: ScribeKind = {
  format: 'langchain',
  name: 'langchain',
  open: () => new ListScribe(WORDS),
};
