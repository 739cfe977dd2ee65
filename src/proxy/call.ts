import { writtenTexts } from '../dialect/calls/interpret.ts';
import { type Arguments, pathArguments } from '../dialect/calls/rule-scope.ts';
import { ClientCall } from '../model/call.ts';
import type { HostSession } from '../model/host-session.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import type { Refusal } from '../model/verdict.ts';
import { straightenContent } from '../text/quotes/quotes.ts';
import { paramsOf } from '../wire/rpc.ts';
import type { Answerable } from './answers.ts';
import type { GateSettings } from './gate-settings.ts';
import { withoutRevision } from './receipt-tools.ts';
import { type CallMeaning, understand } from './understand.ts';
import { forwardedPath } from './upstream-paths.ts';

/**
 * One `tools/call` as it will be forwarded. The message is serialised again before it is sent, so
 * the server gets exactly what was judged.
 */
export interface ProxyCall extends Answerable {
  readonly tool: string;
  readonly args: Arguments;
  readonly meaning: CallMeaning;
  /** The revision (a token for a file's bytes) in the call's arguments, if the option `receipts` is on. */
  readonly revision: string | undefined;
  /** The number of typographic quotes that were straightened in the call's texts. */
  readonly straightened: number;
  readonly times: ClientCall;
}

/** The server's answer to a request: the message, and the line in which it arrived. */
export interface UpstreamAnswer {
  readonly line: Buffer;
  readonly message: JsonRecord;
}

/** The two destinations of messages: the server behind the proxy (upstream) and the client. */
export interface Ends {
  toUpstream(line: Buffer): void;
  /** Returns false if the line is lost, because the client has disconnected. */
  toClient(line: Buffer): boolean;
}

/** The connections to the client and to the server, for the code that judges calls. */
export interface Wire extends Ends {
  /**
   * Sends a request and waits for the server's answer. Resolves to undefined if the signal aborts
   * before that; a later answer goes to the client.
   */
  ask(id: string, line: Buffer, signal: AbortSignal): Promise<UpstreamAnswer | undefined>;
}

/** A call that may be forwarded. */
export interface AdmittedCall extends ProxyCall {
  readonly session: HostSession;
  /**
   * The refusals of files that were left out of a call that reads several files. The keys are the
   * paths as the caller wrote them.
   */
  readonly leftOut: ReadonlyMap<string, Refusal>;
}

/** A new value for one string in a call's arguments. */
interface StringEdit {
  /** Keys and indexes on the path to the string, outermost first. */
  readonly at: readonly (string | number)[];
  readonly value: string;
}

/**
 * Reads a call and rewrites it so that it means the same to the upstream as to us. Removes our own
 * arguments, and replaces paths that the upstream might resolve differently by absolute ones.
 */
export function readProxyCall(
  settings: Pick<GateSettings, 'receipts' | 'catalogue' | 'where' | 'quotes'>,
  { id, message: given }: Answerable,
): ProxyCall {
  const { catalogue, where, receipts } = settings;
  const { message, revision } = receipts
    ? withoutRevision(given, catalogue.rulesOf(toolOf(given).tool))
    : { message: given, revision: undefined };
  const asked = toolOf(message);
  const straight = straightened(settings, asked);
  const sent = withArguments(message, [...placedPaths(settings, asked), ...straight.edits]);
  const request = toolOf(sent);
  const meaning = understand(catalogue, request, where.cwd);
  const times = new ClientCall();
  times.tool = request.tool;
  return {
    id,
    message: sent,
    ...request,
    meaning,
    revision,
    straightened: straight.count,
    times,
  };
}

/** The name and arguments of the called tool. */
function toolOf(message: JsonRecord): { tool: string; args: Arguments } {
  const params = paramsOf(message);
  const tool = typeof params['name'] === 'string' ? params['name'] : '';
  return { tool, args: isRecord(params['arguments']) ? params['arguments'] : {} };
}

/**
 * The edits that straighten typographic quotes in a call's texts, and the number of these quotes. A
 * text that is only a part of a file is changed only in the mode `all`, because Lookfirst cannot
 * know whether the part is code.
 */
function straightened(
  { catalogue, quotes }: Pick<GateSettings, 'catalogue' | 'quotes'>,
  { tool, args }: Pick<ProxyCall, 'tool' | 'args'>,
): { readonly edits: readonly StringEdit[]; readonly count: number } {
  const call = { tool: catalogue.traitsOf(tool), args };
  const texts = quotes === 'off' ? [] : writtenTexts(call, catalogue.rulesOf(tool));
  const changed = texts.flatMap(({ at, path, text, extent }) => {
    if (extent === 'part' && quotes !== 'all') return [];
    const straight = straightenContent(path, text, { mode: quotes });
    return straight.count === 0 ? [] : [{ at, straight }];
  });
  return {
    edits: changed.map(({ at, straight }) => ({ at, value: straight.text })),
    count: changed.reduce((sum, { straight }) => sum + straight.count, 0),
  };
}

/**
 * The edits that replace paths. Empty for a tool that Lookfirst has no description of, because its
 * argument `path` may be something else.
 */
function placedPaths(
  { catalogue, where }: Pick<GateSettings, 'catalogue' | 'where'>,
  { tool, args }: Pick<ProxyCall, 'tool' | 'args'>,
): StringEdit[] {
  const { table } = catalogue;
  const rules = catalogue.rulesOf(tool);
  if (table === undefined || rules === undefined) return [];
  return pathArguments(rules, args).flatMap(({ at, path }) => {
    const value = forwardedPath(path, table, where);
    return value === path ? [] : [{ at, value }];
  });
}

/** The message with strings in its arguments replaced. */
function withArguments(message: JsonRecord, edits: readonly StringEdit[]): JsonRecord {
  return edits.reduce<JsonRecord>(
    // The cast is safe: a record stays a record if a value inside it is replaced.
    (edited, { at, value }) => replaced(edited, ['params', 'arguments', ...at], value) as JsonRecord,
    message,
  );
}

/**
 * A copy of a JSON value with the string at a place replaced. An argument may itself be JSON text;
 * the rest of the path then leads into it. A place without a string stays unchanged.
 */
function replaced(value: unknown, at: readonly (string | number)[], text: string): unknown {
  const [step, ...rest] = at;
  if (step === undefined) return typeof value === 'string' ? text : value;
  if (typeof value === 'string') {
    const inner = parseJson(value);
    return inner === undefined ? value : JSON.stringify(replaced(inner, at, text));
  }
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === String(step) ? replaced(item, rest, text) : item));
  if (!isRecord(value) || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: replaced(value[step], rest, text) };
}
