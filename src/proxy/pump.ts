import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { COMPACTED_METHOD, CONTEXT_KEY, eventsIn } from '../tools/session-choice.ts';
import {
  beginsMessage,
  errorLine,
  hasInexactNumber,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  idKey,
  lineOf,
  PARSE_ERROR,
  paramsOf,
  parseLine,
  rpcMeta,
} from '../wire/rpc.ts';
import { onOneLine } from '../wire/sse.ts';
import { inWords } from './answers.ts';
import { type Ends, JudgedCalls, type UpstreamAnswer } from './calls.ts';
import type { GateSettings } from './gate-settings.ts';
import { upstreamPath } from './upstream-paths.ts';

/** Methods that the gate may refuse. */
const GATED = ['tools/call', 'resources/read'] as const;
const GATED_NAMES: readonly Buffer[] = GATED.map((method) => Buffer.from(method));
const BACKSLASH = 0x5c;

/**
 * Methods whose messages wait until the handshake is over. The meaning of a tool call depends on
 * the server, and a cancellation may refer to a tool call.
 */
const DEPENDING = new Set<unknown>(['tools/call', 'notifications/cancelled']);

/**
 * Maximum time, in milliseconds, to wait for the server's answer to the handshake after the
 * client's input has ended.
 */
const PATIENCE_MS = 10_000;

/**
 * Passes messages between a client and a server. Tool calls and reads of resources stop at the gate
 * and are serialised again, so that the server gets what was judged. All other messages pass as
 * bytes, and only awaited answers are parsed.
 */
export class Pump {
  readonly #ends: Ends;
  readonly #settings: GateSettings;
  readonly #waiting = new Map<string, (answer: UpstreamAnswer) => void>();
  readonly #handshake = new Handshake();
  readonly #calls: JudgedCalls;

  constructor(ends: Ends, settings: GateSettings) {
    this.#ends = ends;
    this.#settings = settings;
    this.#calls = new JudgedCalls(settings, {
      ...ends,
      ask: (id, line, signal) => this.#ask(id, line, signal),
    });
  }

  /** Handles a message from the client. */
  fromClient(given: Buffer): void {
    // Some servers end a line at a carriage return. They would read a part of this line as a message
    // of its own.
    const line = onOneLine(given);
    // Parse every line. A broken line could end the server, or a less strict parser could find a
    // call in it.
    const message = parseLine(line);
    if (Array.isArray(message)) this.#batch(line, message);
    else if (!isRecord(message)) this.#ends.toClient(errorLine('null', PARSE_ERROR, 'Parse error'));
    else if (mayName(line, GATED_NAMES)) this.#rewritten(line, message);
    else this.#take(line, message);
  }

  /**
   * Handles a message that may name a gated method. Parsers differ in what they take from a repeated
   * key, so the message is forwarded as we understood it.
   */
  #rewritten(line: Buffer, message: JsonRecord): void {
    const text = 'this message has a number that JavaScript cannot represent exactly';
    if (hasInexactNumber(line.toString('utf8'))) this.#reject(message, INVALID_REQUEST, text);
    else this.#take(lineOf(message), message);
  }

  /** Handles a line from the server. Drops and logs anything that is not a message. */
  fromUpstream(line: Buffer): void {
    if (!beginsMessage(line)) {
      const text = line.toString('utf8', 0, 200).trim();
      if (text !== '') this.log(`dropped a line that is not a message: ${text}`);
      return;
    }
    const awaits = this.listens ? this.#awaiting(line) : undefined;
    if (awaits === undefined) this.#ends.toClient(line);
    else awaits();
  }

  /** True if the gate waits for an answer of the server. */
  get listens(): boolean {
    return this.#waiting.size > 0;
  }

  log(text: string): void {
    this.#settings.log(text);
  }

  /** Resolves when everything from the client has been forwarded or answered. */
  async idle(): Promise<void> {
    await this.#handshake.over();
    await this.#calls.idle();
  }

  /** The number of calls that the server has not answered yet. */
  get unanswered(): number {
    return this.#calls.unanswered;
  }

  /** Ends all calls after the server has ended. */
  close(): Promise<void> {
    this.#handshake.end();
    return this.#calls.close();
  }

  #take(line: Buffer, message: JsonRecord): void {
    const { method } = message;
    if (DEPENDING.has(method) && this.#handshake.postpones(() => this.#take(line, message))) return;
    if (!this.#reports(message)) return;
    switch (method) {
      case 'tools/call':
        if (hasClearArguments(message)) this.#calls.take(message);
        else this.#reject(message, INVALID_PARAMS, 'the arguments of a tool call must be an object');
        return;
      case 'resources/read':
        this.#readResource(line, message);
        return;
      case 'tools/list':
        this.#watch(message, (answer) => {
          this.#settings.catalogue.sawTools(answer.message['result']);
          this.#ends.toClient(answer.line);
        });
        break;
      case 'initialize':
      case 'server/discover':
        if (idKey(message['id']) !== undefined) this.#handshake.begin();
        this.#watch(message, (answer) => {
          this.#ends.toClient(answer.line);
          this.#settings.catalogue.sawServer(answer.message['result']);
          this.#handshake.end();
        });
        break;
      case 'notifications/cancelled': {
        const id = idKey(paramsOf(message)['requestId']);
        if (id !== undefined) this.#calls.cancelled(id);
        break;
      }
    }
    this.#ends.toUpstream(line);
  }

  /** Answers a request with an error; drops and logs a message without an id. */
  #reject(message: JsonRecord, code: number, text: string): void {
    const id = idKey(message['id']);
    if (id !== undefined) this.#ends.toClient(errorLine(id, code, text));
    else if (message['id'] !== undefined) this.#ends.toClient(errorLine('null', code, text));
    else this.log(`a message was dropped: ${text}`);
  }

  /** Handles a `resources/read`. A `file:` URL must be inside the workspace, like any other read. */
  #readResource(line: Buffer, message: JsonRecord): void {
    const uri = fileAddress(message);
    if (uri === undefined) this.#ends.toUpstream(line);
    else this.#calls.track(readResource(this.#settings, this.#ends, { line, message, uri }));
  }

  /**
   * Applies the session events (a compaction, a new turn) that the `_meta` of a message reports.
   * Returns false if the message must not be handled or forwarded any further.
   */
  #reports(message: JsonRecord): boolean {
    const ours = message['method'] === COMPACTED_METHOD;
    const meta = ours ? { ...rpcMeta(message), [CONTEXT_KEY]: 'compacted' } : rpcMeta(message);
    const events = eventsIn(meta);
    if (events.kind === 'events') this.#calls.report(meta, events.apply);
    if (events.kind !== 'invalid') return !ours;
    this.#reject(message, INVALID_PARAMS, events.reason);
    return false;
  }

  /** Passes the answer to this request to `take`, which forwards it. */
  #watch(message: JsonRecord, take: (answer: UpstreamAnswer) => void): void {
    const id = idKey(message['id']);
    // The rounded id might be the id of another request.
    const isExact = typeof message['id'] !== 'number' || Number.isSafeInteger(message['id']);
    if (id !== undefined && isExact) this.#waiting.set(id, take);
  }

  #ask(id: string, line: Buffer, signal: AbortSignal): Promise<UpstreamAnswer | undefined> {
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#waiting.delete(id);
        resolve(undefined);
      };
      this.#waiting.set(id, (answer) => {
        signal.removeEventListener('abort', giveUp);
        resolve(answer);
      });
      signal.addEventListener('abort', giveUp, { once: true });
      this.#ends.toUpstream(line);
    });
  }

  /**
   * Refuses a whole batch if it may contain a tool call or a resource read, because the gate does not
   * read batches. Forwards any other batch. Only one MCP revision allows batches.
   */
  #batch(line: Buffer, messages: readonly unknown[]): void {
    if (!mayName(line, GATED_NAMES)) {
      this.#ends.toUpstream(line);
      return;
    }
    const text = 'send tool calls one by one, not in a batch';
    const answers = messages.flatMap((message) => {
      const id = idKey(fieldOf(message, 'id'));
      const asks = typeof fieldOf(message, 'method') === 'string';
      return id === undefined || !asks ? [] : [errorLine(id, INVALID_REQUEST, text).toString()];
    });
    if (answers.length > 0) this.#ends.toClient(Buffer.from(`[${answers.join(',')}]`));
  }

  /** A function that hands this line to the request that waits for it. Undefined if none does. */
  #awaiting(line: Buffer): (() => void) | undefined {
    const message = parseLine(line);
    // A request of the server may have the same id as one of the client.
    if (!isRecord(message) || message['method'] !== undefined) return undefined;
    const id = idKey(message['id']);
    const take = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || take === undefined) return undefined;
    return () => {
      this.#waiting.delete(id);
      take({ line, message });
    };
  }
}

/**
 * True if the line contains one of the names. Also true if it contains a backslash: a name may then
 * be written with escapes.
 */
function mayName(line: Buffer, names: readonly Buffer[]): boolean {
  return line.includes(BACKSLASH) || names.some((name) => line.includes(name));
}

/**
 * True if the arguments of a tool call are an object or absent. Some servers also accept other
 * forms, such as JSON text, in which the gate would see no paths.
 */
function hasClearArguments(message: JsonRecord): boolean {
  const given = paramsOf(message)['arguments'];
  return given === undefined || given === null || isRecord(given);
}

/**
 * Holds calls back until the server has answered the handshake, because the meaning of a call
 * depends on the server's name. Clients should wait for that answer, but some do not.
 */
class Handshake {
  #held: (() => void)[] | undefined;
  readonly #onEnd: (() => void)[] = [];

  begin(): void {
    this.#held ??= [];
  }

  /** Releases the held calls: the server has answered the handshake, or never will. */
  end(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const act of held) act();
    for (const act of this.#onEnd.splice(0)) act();
  }

  /** Queues the action if the handshake is not over; true if it was queued. */
  postpones(act: () => void): boolean {
    this.#held?.push(act);
    return this.#held !== undefined;
  }

  /** Resolves when no call is held back any more, or after `PATIENCE_MS`. */
  async over(): Promise<void> {
    if (this.#held === undefined || this.#held.length === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS);
      this.#onEnd.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/**
 * Matches a URL that contains `..`. Such a URL is refused as ambiguous, because some servers follow
 * links before they apply `..`.
 */
const CLIMBS = /(^|[/\\:]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i;

/**
 * The `file:` URL of a `resources/read`; undefined for any other URL. Removes the characters that
 * URL parsers ignore: spaces and control characters before the URL, tabs and newlines anywhere.
 */
function fileAddress(message: JsonRecord): string | undefined {
  const uri = paramsOf(message)['uri'];
  if (typeof uri !== 'string') return undefined;
  const plain = uri.replace(/^[\0-\x20]+|[\t\n\r]/g, '');
  return /^file:/i.test(plain) ? plain : undefined;
}

/** Forwards a read of a `file:` URL if the file is inside the workspace. Otherwise answers with an error. */
async function readResource(
  options: Pick<GateSettings, 'session' | 'wording' | 'catalogue' | 'where' | 'log'>,
  wire: Ends,
  request: { readonly line: Buffer; readonly message: JsonRecord; readonly uri: string },
): Promise<void> {
  const { line, message, uri } = request;
  const id = idKey(message['id']) ?? 'null';
  if (CLIMBS.test(uri)) {
    wire.toClient(errorLine(id, INVALID_PARAMS, 'the URL of a file may not contain ".."'));
    return;
  }
  let ended: (() => void) | undefined;
  try {
    const session = await options.session(rpcMeta(message));
    ended = session.ended;
    // Check two forms of the path, because some servers decode the URL and others only remove its
    // scheme. Both forms must be inside the workspace.
    const reading = { relativeTo: 'cwd', expandsHome: true, cwd: options.where.cwd } as const;
    for (const path of [upstreamPath(uri, reading), uri.replace(/^file:(\/\/)?/i, '')]) {
      const located = await session.locate(path, 'read');
      if (located.ok) continue;
      const text = inWords(located.refusal, options);
      wire.toClient(errorLine(id, INVALID_PARAMS, text));
      return;
    }
    wire.toUpstream(line);
  } catch (error) {
    options.log(`refused ${uri}, because the check failed: ${String(error)}`);
    wire.toClient(errorLine(id, INTERNAL_ERROR, 'The check itself failed, so this read was refused.'));
  } finally {
    ended?.();
  }
}
