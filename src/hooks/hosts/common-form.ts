import type { HostName } from '../../config/hook-flags.ts';
import type { JsonRecord } from '../../model/record.ts';
import { type HookAnswer, type HookEvent, type Host, type Malformed, SILENT } from '../event.ts';
import { deniedOnStderr, optionalText, payloadText, sessionOf, workspaceRoots } from './payload.ts';

/**
 * Events in the form of Claude Code: a JSON object with `hook_event_name`, for calls also with
 * `tool_name` and `tool_input`.
 */
interface EventForm {
  /** The fields that may hold the session id, the usual one first. */
  readonly sessionFields: readonly [string, ...string[]];
  /** The field that names the turn; absent if the client sends none. */
  readonly turnField?: string;
  /** The client's names of events. It may send others, which the gate ignores. */
  readonly events: ReadonlyMap<string, Exclude<HookEvent['kind'], 'rewound' | 'other'>>;
  /** The result of a call; default: the field `tool_response`. */
  response?(payload: JsonRecord): unknown;
  /** The error in the response to a failed call, of a client without an event for failures. */
  errorIn?(response: unknown): string | undefined;
}

/** One of the clients whose events and answers have Claude Code's form. */
export interface CommonForm extends EventForm {
  readonly name: HostName;
  readonly projectVariable?: string;
  /** The events whose answer may carry a context that the model reads. */
  readonly withContext: ReadonlySet<string>;
  denial(reason: string, eventName: string): JsonRecord;
  context(text: string, eventName: string): JsonRecord;
}

export function hostOf(form: CommonForm): Host {
  const { name, projectVariable, events, withContext } = form;
  return {
    name,
    ...(projectVariable === undefined ? {} : { projectVariable }),
    contextBefore: [...withContext].some((eventName) => events.get(eventName) === 'before'),
    understand: (payload) => eventIn(form, payload),
    answer(reply, { kind, eventName }): HookAnswer {
      if (reply.verdict === 'deny')
        return kind === 'before'
          ? printed(form.denial(reply.reason, eventName))
          : deniedOnStderr(reply.reason);
      if (reply.context === undefined || !withContext.has(eventName)) return SILENT;
      return printed(form.context(reply.context, eventName));
    },
  };
}

function printed(answer: JsonRecord): HookAnswer {
  return { ...SILENT, stdout: JSON.stringify(answer) };
}

/** Reads an event of this form. */
export function eventIn(form: EventForm, payload: JsonRecord): HookEvent | Malformed {
  const { sessionFields, turnField, events } = form;
  const session = sessionOf(payload, ...sessionFields);
  if (session === undefined) return { kind: 'malformed', reason: `the event has no ${sessionFields[0]}` };
  const context = {
    session,
    ...optionalText('turn', turnField === undefined ? undefined : payload[turnField]),
    ...optionalText('cwd', payload['cwd']),
    ...optionalText('transcript', payload['transcript_path']),
    ...workspaceRoots(payload['workspace_roots']),
  };
  const eventName = payloadText(payload['hook_event_name']) ?? payloadText(payload['hookEventName']) ?? '';
  const kind = events.get(eventName);
  switch (kind) {
    case 'before':
    case 'after':
    case 'failed':
      return toolEvent(form, payload, { context, kind });
    case 'prompt':
      return { ...context, kind, prompt: payloadText(payload['prompt']) ?? '' };
    case 'start':
      return { ...context, ...startOf(payloadText(payload['source'])) };
    case undefined:
      return { ...context, kind: 'other' };
    default:
      return { ...context, kind };
  }
}

function toolEvent(
  form: EventForm,
  payload: JsonRecord,
  {
    context,
    kind,
  }: { readonly context: Pick<HookEvent, 'session'>; readonly kind: 'before' | 'after' | 'failed' },
): HookEvent | Malformed {
  const tool = payloadText(payload['tool_name']);
  if (tool === undefined) return { kind: 'malformed', reason: 'the event has no tool_name' };
  const call = {
    ...context,
    tool,
    input: payload['tool_input'],
    ...optionalText('call', payload['tool_use_id']),
  };
  if (kind === 'before') return { ...call, kind };
  const response = form.response === undefined ? payload['tool_response'] : form.response(payload);
  const given = payloadText(payload['error']) ?? payloadText(payload['error_message']) ?? '';
  const error = kind === 'failed' ? given : form.errorIn?.(response);
  return error === undefined ? { ...call, kind: 'after', response } : { ...call, kind: 'failed', error };
}

function startOf(
  source: string | undefined,
): { kind: 'start'; source: 'new' | 'resumed' | 'cleared' } | { kind: 'compacted' } {
  switch (source) {
    case 'compact':
      return { kind: 'compacted' };
    case 'clear':
      return { kind: 'start', source: 'cleared' };
    case 'resume':
    case 'fork':
      return { kind: 'start', source: 'resumed' };
    default:
      return { kind: 'start', source: 'new' };
  }
}
