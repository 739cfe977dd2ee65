import { editOf, ownText, type ScribeKind } from '../scribe.ts';
import type { CallStep } from '../step.ts';
import { ListScribe, type ListWords } from './list.ts';

const WORDS: ListWords = {
  call: (call, cwd) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id: call.id, ...toolOf(call) }],
    ...(cwd === undefined ? {} : { cwd }),
  }),
  result(calls, step) {
    const failed = step.is === 'error' || step.is === 'denied';
    const block = { type: 'tool_result', tool_use_id: step.id, content: ownText(calls, step, 6) };
    return { role: 'user', content: [failed ? { ...block, is_error: true } : block] };
  },
  list: (messages) => ({
    model: 'claude-sonnet-4-5',
    messages: [{ role: 'user', content: 'go' }, ...messages],
  }),
  compact: (kept) => [
    { role: 'assistant', content: [{ type: 'compaction', content: 'We looked at files.' }] },
    ...kept,
  ],
  clear: (count) => [
    {
      role: 'assistant',
      content: [],
      context_management: {
        applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: count }],
      },
    },
  ],
  knowsDirectories: true,
};

/** Writes conversations as messages of the Anthropic API. The model calls Anthropic's text editor and bash tools. */
export const ANTHROPIC_MESSAGES: ScribeKind = {
  format: 'anthropic-messages',
  name: 'anthropic-messages',
  open: () => new ListScribe(WORDS),
};

function toolOf(call: CallStep): { readonly name: string; readonly input: object } {
  const editor = (input: object): { readonly name: string; readonly input: object } => ({
    name: 'str_replace_based_edit_tool',
    input,
  });
  switch (call.tool) {
    case 'read': {
      const ranged = call.lines === undefined ? {} : { view_range: call.lines };
      return editor({ command: 'view', path: call.path, ...ranged });
    }
    case 'write':
      return editor({ command: 'create', path: call.path, file_text: call.content });
    case 'edit': {
      const { old_string: old_str, new_string: new_str } = editOf(call.path);
      return editor({ command: 'str_replace', path: call.path, old_str, new_str });
    }
    case 'shell':
      return { name: 'bash', input: { command: call.command } };
    default:
      return call satisfies never;
  }
}
