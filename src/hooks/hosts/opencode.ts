import { isRecord, type JsonRecord } from '../../model/record.ts';
import { type HookAnswer, type HookEvent, type Host, type Malformed, SILENT } from '../event.ts';
import { optionalText, payloadText } from './payload.ts';

/**
 * opencode. Its plugin sends `{hook, directory, input, output}`; `input` and `output` are the
 * arguments of the plugin function that `hook` names. Our answer is `{"deny": reason}`, which the
 * plugin throws as an error, or `{"context": text}`, which it appends to the tool's output.
 */
export const OPENCODE: Host = {
  name: 'opencode',
  contextBefore: false,
  understand,
  answer(reply): HookAnswer {
    if (reply.verdict === 'deny') return { ...SILENT, stdout: JSON.stringify({ deny: reply.reason }) };
    return reply.context === undefined
      ? SILENT
      : { ...SILENT, stdout: JSON.stringify({ context: reply.context }) };
  },
};

function understand(payload: JsonRecord): HookEvent | Malformed {
  const input = isRecord(payload['input']) ? payload['input'] : {};
  const output = isRecord(payload['output']) ? payload['output'] : {};
  const hook = payloadText(payload['hook']);
  const session = payloadText(input['sessionID']) ?? sessionOfEvent(input);
  if (session === undefined)
    return hook === 'event'
      ? { kind: 'other', session: '' }
      : { kind: 'malformed', reason: 'the event has no sessionID' };
  const context = { session, ...optionalText('cwd', payload['directory']) };
  switch (hook) {
    case 'tool.execute.before':
    case 'tool.execute.after': {
      const tool = payloadText(input['tool']);
      if (tool === undefined) return { kind: 'malformed', reason: 'the event has no tool' };
      const call = { tool, ...optionalText('call', input['callID']) };
      return hook === 'tool.execute.before'
        ? { ...context, ...call, kind: 'before', input: output['args'] }
        : { ...context, ...call, kind: 'after', input: input['args'], response: output };
    }
    case 'chat.message': {
      const message = isRecord(output['message']) ? output['message'] : {};
      return {
        ...context,
        ...optionalText('turn', message['id']),
        kind: 'prompt',
        prompt: promptOf(output['parts']),
      };
    }
    case 'event':
      return { ...context, ...sessionEvent(input) };
    default:
      return { ...context, kind: 'other' };
  }
}

/**
 * Recognises a compaction and a revert of the conversation. `before`: the first message that the
 * revert removes.
 */
function sessionEvent(
  input: JsonRecord,
): { readonly kind: 'compacted' | 'other' } | { readonly kind: 'rewound'; readonly before: string } {
  const type = payloadText(input['type']);
  if (type === 'session.compacted') return { kind: 'compacted' };
  const properties = isRecord(input['properties']) ? input['properties'] : {};
  const info = isRecord(properties['info']) ? properties['info'] : {};
  const revert = isRecord(info['revert']) ? info['revert'] : {};
  const before = type === 'session.updated' ? payloadText(revert['messageID']) : undefined;
  return before === undefined ? { kind: 'other' } : { kind: 'rewound', before };
}

/**
 * The session id in the properties of an event. Other plugin functions get it as `input.sessionID`.
 */
function sessionOfEvent(input: JsonRecord): string | undefined {
  const properties = input['properties'];
  return isRecord(properties) ? payloadText(properties['sessionID']) : undefined;
}

function promptOf(parts: unknown): string {
  if (!Array.isArray(parts)) return '';
  return parts.flatMap((part) => (isRecord(part) ? [payloadText(part['text']) ?? ''] : [])).join('\n');
}
