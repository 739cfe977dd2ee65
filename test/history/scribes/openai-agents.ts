import { ownArguments, ownText, type ScribeKind } from '../scribe.ts';
import { ListScribe, type ListWords } from './list.ts';

const WORDS: ListWords = {
  call(call, cwd) {
    const place = cwd === undefined ? {} : { cwd };
    if (call.tool === 'shell')
      return { type: 'shell_call', callId: call.id, action: { commands: [call.command] }, ...place };
    const { name, args } = ownArguments(call);
    return {
      type: 'function_call',
      callId: call.id,
      name,
      arguments: JSON.stringify(args),
      status: 'completed',
      ...place,
    };
  },
  /** The SDK marks a failed tool as completed too; only the text shows the failure. */
  result(calls, step) {
    const text = ownText(calls, step);
    if (calls.get(step.id)?.tool === 'shell') {
      const exit_code = step.is === 'error' ? 1 : 0;
      const output = [{ stdout: `${text}\n`, stderr: '', outcome: { type: 'exit', exit_code } }];
      return { type: 'shell_call_output', callId: step.id, output };
    }
    const status = step.is === 'denied' ? 'incomplete' : 'completed';
    return { type: 'function_call_result', callId: step.id, status, output: { type: 'text', text } };
  },
  list: (history) => ({ history: [{ type: 'message', role: 'user', content: 'go' }, ...history] }),
  compact: (kept) => [{ type: 'compaction', encrypted_content: 'gAAAAB' }, ...kept],
  knowsDirectories: true,
};

/** Writes conversations as lists of items of the OpenAI Agents SDK. */
export const OPENAI_AGENTS: ScribeKind = {
  format: 'openai-agents',
  name: 'openai-agents',
  open: () => new ListScribe(WORDS),
};
