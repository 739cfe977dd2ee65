import { changesFiles } from '../dialect/calls/hosts/hosts.ts';
import { errorText, Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import { clip } from '../report/bounded.ts';
import { type HookAnswer, type HookEvent, type HookReply, type Host, SILENT } from './event.ts';
import { deniedOnStderr, payloadText } from './hosts/payload.ts';

/** One call of a hook: the host's input and the flags of the hook's command line. */
export interface HookCall {
  readonly host: Host;
  /** The text that the host wrote to stdin. */
  readonly text: string;
  /** The event that the host's configuration names (`--event`); undefined if the hook was called without it. */
  readonly declaredEvent?: string;
  /**
   * The answer if Lookfirst itself fails before a change: deny the call, or let it pass
   * (`--fail-open`).
   */
  readonly onFailure: 'deny' | 'pass';
}

/** Judges one event. Throws a Fault if it cannot. */
type Respond = (event: HookEvent) => Promise<HookReply>;

/**
 * Names of the events that hosts send before a tool call. Only the answer to such an event can deny
 * the call.
 */
const BEFORE_EVENTS = new Set(['PreToolUse', 'BeforeTool', 'preToolUse', 'tool.execute.before', 'before']);

const MAX_REASON = 8_000;
const MAX_CONTEXT = 8_000;

/**
 * Converts one event to an answer that the host obeys. Never throws. If Lookfirst fails before a
 * change or a command, the answer is a denial, unless `onFailure` is `pass`. After a failure in any
 * other event, the host continues.
 */
export async function answerHook(call: HookCall, respond: Respond): Promise<HookAnswer> {
  const { host } = call;
  const given = parseObject(call.text);
  if (given === undefined) return failed(call, 'the input is not a JSON object');
  const payload = asDeclared(call, given);
  const eventName = eventNameOf(payload);
  const event = host.understand(payload);
  if (eventName === '') return failed(call, 'the event has no name');
  if (event.kind === 'malformed')
    return failed(call, event.reason, event.isUnknownEvent ? undefined : eventName);
  try {
    const reply = bounded(await respond(event));
    return host.answer(reply, { eventName, kind: event.kind });
  } catch (error) {
    const isHarmless = event.kind === 'before' && !changesFiles(host.name, event.tool);
    return isHarmless ? ignored(describe(error)) : failed(call, describe(error), eventName);
  }
}

/** The answer to a failure in an event that changes no file and runs no command: the host continues. */
function ignored(reason: string): HookAnswer {
  return { ...SILENT, stderr: `lookfirst: ${reason}; the client continues\n` };
}

/**
 * The payload, with the event name from the host's configuration (`--event`) if the payload names
 * no event. If `--event` names an event before a change, it also replaces the name of an event that
 * the gate ignores, because the change would otherwise pass unchecked.
 */
function asDeclared({ host, declaredEvent }: HookCall, payload: JsonRecord): JsonRecord {
  if (declaredEvent === undefined) return payload;
  const event = host.understand(payload);
  const isUnknown = event.kind === 'other' || (event.kind === 'malformed' && event.isUnknownEvent);
  if (eventNameOf(payload) !== '' && !(BEFORE_EVENTS.has(declaredEvent) && isUnknown)) return payload;
  return { ...payload, ...Object.fromEntries(NAME_FIELDS.map((field) => [field, declaredEvent])) };
}

/** The fields in which hosts name their events. */
const NAME_FIELDS = ['hook_event_name', 'hookEventName', 'hook', 'event'];

/** The host's own name for the event; empty if the payload names none. */
function eventNameOf(payload: JsonRecord): string {
  return NAME_FIELDS.map((field) => payloadText(payload[field])).find((name) => name !== undefined) ?? '';
}

function failed(call: HookCall, reason: string, eventName?: string): HookAnswer {
  const event = call.declaredEvent ?? eventName;
  // Treat an event without a name like an event before a change, because it may be one.
  const precedesChange = event === undefined || event === '' || BEFORE_EVENTS.has(event);
  if (!precedesChange) return ignored(reason);
  const sentence = `Lookfirst could not check this call: ${reason}.`;
  if (call.onFailure === 'pass')
    return { ...SILENT, stderr: `${sentence} It passes unchecked because of --fail-open.\n` };
  return deniedOnStderr(`${sentence} The call is refused. Ask the user to run \`lookfirst doctor\`.`);
}

function describe(error: unknown): string {
  if (error instanceof Fault) return `${error.message} [${error.code}]`;
  return errorText(error);
}

function parseObject(text: string): JsonRecord | undefined {
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}

function bounded(reply: HookReply): HookReply {
  if (reply.verdict === 'deny') return { ...reply, reason: plain(reply.reason, MAX_REASON) };
  return reply.context === undefined ? reply : { ...reply, context: plain(reply.context, MAX_CONTEXT) };
}

/**
 * Removes terminal escapes and limits the length, because hosts pass the text unchanged to a
 * terminal and to a model.
 */
function plain(text: string, limit: number): string {
  // Replace halves of surrogate pairs: strict JSON parsers reject an answer that contains one.
  const clean = text
    .toWellFormed()
    .replace(/\u001b\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
  if (clean.length <= limit) return clean;
  const note = '\n[the rest is left out]';
  return clip(clean, limit - note.length) + note;
}
