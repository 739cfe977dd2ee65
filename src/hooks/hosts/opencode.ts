import { isRecord, type JsonRecord } from '../../model/record.ts';
import { type HookAnswer, type HookEvent, type Host, type Malformed, SILENT } from '../event.ts';
import { eventIn } from './common-form.ts';
import { optionalText, payloadText } from './payload.ts';

const FORM = {
  sessionFields: ['sessionID'],
  turnField: 'turn',
  events: new Map([
    ['tool.execute.before', 'before'],
    ['tool.execute.after', 'after'],
    ['chat.message', 'prompt'],
  ] as const),
} as const;

/**
 * opencode. Its plugin sends `{hook, directory, input, output}`; `input` and `output` are the
 * arguments of the plugin function that `hook` names. Our answer is `{"deny": reason}`, which the
 * plugin throws as an error, or `{"context": text}`, which it appends to the tool's output.
 */
export const OPENCODE: Host = {
  name: 'opencode',
  contextBefore: false,
  understand({ hook, directory, ...payload }): HookEvent | Malformed {
    const [input, output] = [recordOf(payload['input']), recordOf(payload['output'])];
    if (hook === 'event') return sessionEvent(input, directory);
    return eventIn(FORM, {
      ...{ hook_event_name: hook, sessionID: input['sessionID'], cwd: directory },
      ...{ tool_name: input['tool'], tool_use_id: input['callID'], tool_response: output },
      tool_input: hook === 'tool.execute.before' ? output['args'] : input['args'],
      turn: recordOf(output['message'])['id'],
      prompt: promptOf(output['parts']),
    });
  },
  answer(reply): HookAnswer {
    if (reply.verdict === 'deny') return { ...SILENT, stdout: JSON.stringify({ deny: reply.reason }) };
    return reply.context === undefined
      ? SILENT
      : { ...SILENT, stdout: JSON.stringify({ context: reply.context }) };
  },
};

function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/**
 * Recognises a compaction and a revert of the conversation. `before`: the first message that the
 * revert removes.
 */
function sessionEvent(input: JsonRecord, directory: unknown): HookEvent {
  const properties = recordOf(input['properties']);
  const session = payloadText(input['sessionID']) ?? payloadText(properties['sessionID']);
  if (session === undefined) return { kind: 'other', session: '' };
  const context = { session, ...optionalText('cwd', directory) };
  const type = payloadText(input['type']);
  if (type === 'session.compacted') return { ...context, kind: 'compacted' };
  const revert = recordOf(recordOf(properties['info'])['revert']);
  const before = type === 'session.updated' ? payloadText(revert['messageID']) : undefined;
  return before === undefined ? { ...context, kind: 'other' } : { ...context, kind: 'rewound', before };
}

function promptOf(parts: unknown): string {
  if (!Array.isArray(parts)) return '';
  return parts.flatMap((part) => (isRecord(part) ? [payloadText(part['text']) ?? ''] : [])).join('\n');
}
