import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { COMPACTED_METHOD, CONTEXT_KEY, eventsIn } from '../tools/session-choice.ts';
import {
  errorLine,
  INVALID_PARAMS,
  INVALID_REQUEST,
  idBetween,
  idKey,
  idKeyOfText,
  isPlainlyResponse,
  methodsIn,
  PARSE_ERROR,
  paramsOf,
  parseLine,
  rewrittenLine,
  rpcMeta,
} from '../wire/rpc.ts';
import { onOneLine } from '../wire/sse.ts';
import { idOfRequest } from './call.ts';
import { Intercept } from './intercept.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { JUDGED_METHODS } from './intercept-options.ts';
import { withReceiptTools } from './receipt-tools.ts';
import { type AnswerWaiter, Received, type Wire } from './received.ts';
import { UpstreamPaths } from './upstream-paths.ts';

/** Methods that concern the proxy. Messages with only other methods pass unchanged. */
const HEEDED = new Set([...JUDGED_METHODS, 'notifications/cancelled', 'notifications/roots/list_changed']);

/** Methods that the gate may refuse. */
const GATED = new Set<unknown>(['tools/call', 'resources/read']);

/**
 * Methods whose messages wait until the handshake is over. The meaning of a tool call depends on
 * the server, and a cancellation may refer to a tool call.
 */
const DEPENDING = new Set<unknown>(['tools/call', 'notifications/cancelled']);

/** The prefix of our own `_meta` keys. */
const OUR_KEYS = Buffer.from('dev.lookfirst');

/**
 * If a client's message has no method, the proxy checks this many of its first bytes. It forwards
 * the message without further checks only if these bytes show that it is a response.
 */
const HEAD_BYTES = 256;

/** The two destinations of messages: the server behind the proxy (upstream) and the client. */
export interface Ends {
  toUpstream(line: Buffer): void;
  /** Returns false if the line is lost, because the client has disconnected. */
  toClient(line: Buffer): boolean;
}

/**
 * Maximum time, in milliseconds, to wait for the server's answer to the handshake after the
 * client's input has ended.
 */
const PATIENCE_MS = 10_000;

/**
 * Passes messages between a client and a server as bytes: ids, tokens, unknown methods and
 * everything else stay unchanged. Only tool calls and reads of resources stop at the gate, and only
 * awaited answers are read.
 */
export class Pump {
  readonly #ends: Ends;
  readonly #options: InterceptOptions;
  readonly #waiting = new Map<string, AnswerWaiter>();
  #holding = 0;
  readonly #upstreamPaths: UpstreamPaths;
  readonly #handshake = new Handshake();
  readonly #intercept: Intercept;

  constructor(ends: Ends, options: InterceptOptions) {
    this.#ends = ends;
    this.#options = options;
    const wire: Wire = {
      toUpstream: (line) => ends.toUpstream(line),
      toClient: (line) => ends.toClient(line),
      expect: (key, awaiting) => this.#expect(key, awaiting),
      forget: (key) => void this.#take(key),
    };
    this.#upstreamPaths = new UpstreamPaths(options.where);
    this.#intercept = new Intercept(options, wire, this.#upstreamPaths);
  }

  /** Handles a message from the client. */
  fromClient(given: Buffer): void {
    // Some servers end a line at a carriage return. They would read a part of this line as a message
    // of its own.
    const line = onOneLine(given);
    // Parse every line. A broken line could end the server, or a less strict parser could find a
    // call in it.
    const message = parseLine(line);
    if (!isRecord(message) && !Array.isArray(message))
      this.#ends.toClient(errorLine('null', PARSE_ERROR, 'Parse error'));
    else if (isIgnored(line)) this.#ends.toUpstream(line);
    else if (isRecord(message)) this.#heed(line, message);
    else this.#batch(line, message);
  }

  /** Handles a line from the server. Drops and logs anything that is not a message. */
  fromUpstream(line: Buffer): void {
    const message = Received.whole(line);
    if (message.begins) this.received(message);
    else this.log(`dropped a line that is not a message: ${line.toString('utf8', 0, 200)}`);
  }

  /** Handles a message from the server, whether or not it was already forwarded. */
  received(message: Received): void {
    const awaiting = this.listens ? this.#awaitingOf(message) : undefined;
    if (awaiting !== undefined) awaiting.take(message);
    else if (!message.forwarded) this.#ends.toClient(message.line);
  }

  /** True if the gate waits for an answer of the server. */
  get listens(): boolean {
    return this.#waiting.size > 0;
  }

  /** True if the client must not get an awaited answer before the gate has recorded or changed it. */
  get holds(): boolean {
    return this.#holding > 0;
  }

  log(text: string): void {
    this.#options.log(text);
  }

  /** Resolves when everything from the client has been forwarded or answered. */
  async idle(): Promise<void> {
    await this.#handshake.over();
    await this.#intercept.idle();
  }

  /** The number of calls that the server has not answered yet. */
  get unanswered(): number {
    return this.#intercept.unanswered;
  }

  /** Ends all calls after the server has ended. */
  close(): Promise<void> {
    this.#handshake.end();
    return this.#intercept.close();
  }

  #heed(line: Buffer, message: JsonRecord): void {
    const depends = DEPENDING.has(message['method']);
    if (depends && this.#handshake.postpones(() => this.#heed(line, message))) return;
    if (!this.#reports(line, message)) return;
    switch (message['method']) {
      case 'tools/call':
        if (hasClearArguments(message)) this.#intercept.call(line, message);
        else this.#refuseArguments(line, message);
        return;
      case 'resources/read':
        this.#intercept.resource(line, message);
        return;
      case 'tools/list':
        if (this.#options.receipts) this.#rewriteTools(message);
        else this.#watch(message, (result) => this.#options.catalogue.sawTools(result));
        break;
      case 'initialize':
      case 'server/discover':
        this.#upstreamPaths.sawClient(message);
        if (idKey(message['id']) !== undefined) this.#handshake.begin();
        this.#watch(message, (result) => {
          this.#options.catalogue.sawServer(result);
          this.#handshake.end();
        });
        break;
      case 'notifications/roots/list_changed':
        this.#upstreamPaths.sawRoots();
        break;
      case 'notifications/cancelled': {
        const key = idKey(paramsOf(message)['requestId']);
        if (key !== undefined) this.#intercept.cancelled(key);
        break;
      }
    }
    this.#ends.toUpstream(line);
  }

  #refuseArguments(line: Buffer, message: JsonRecord): void {
    const id = idOfRequest(line, message)?.id;
    const text = 'the arguments of a tool call must be an object';
    if (id === undefined) this.log(`a tools/call without an id was dropped: ${text}`);
    else this.#ends.toClient(errorLine(id, INVALID_PARAMS, text));
  }

  /**
   * Applies the session events (a compaction, a new turn) that the `_meta` of a message reports.
   * Returns false if the message must not be handled or forwarded any further.
   */
  #reports(line: Buffer, message: JsonRecord): boolean {
    const ours = message['method'] === COMPACTED_METHOD;
    const meta = ours ? { ...rpcMeta(message), [CONTEXT_KEY]: 'compacted' } : rpcMeta(message);
    const events = eventsIn(meta);
    if (events.kind === 'events') this.#intercept.report(meta, events.apply);
    if (events.kind !== 'invalid') return !ours;
    this.log(events.reason);
    const id = idOfRequest(line, message)?.id;
    if (id !== undefined) this.#ends.toClient(errorLine(id, INVALID_PARAMS, events.reason));
    return false;
  }

  /**
   * Passes the result of this request to `look` when the answer arrives. The client gets the answer
   * unchanged.
   */
  #watch(message: JsonRecord, look: (result: unknown) => void): void {
    const key = idKey(message['id']);
    if (key === undefined) return;
    const take = (received: Received): void => {
      if (!received.forwarded) this.#ends.toClient(received.line);
      look(received.parse()?.['result']);
    };
    this.#expect(key, { holds: false, take });
  }

  /**
   * Lets the tool descriptions mention receipts, the lines that the proxy adds to the results of
   * reads. Called only if receipts are on.
   */
  #rewriteTools(message: JsonRecord): void {
    const key = idKey(message['id']);
    if (key === undefined) return;
    const { catalogue } = this.#options;
    const take = (received: Received): void => {
      const response = received.parse();
      const result = response?.['result'];
      catalogue.sawTools(result);
      const tools = isRecord(result) ? withReceiptTools(result, (tool) => catalogue.rulesOf(tool)) : result;
      this.#ends.toClient(
        isRecord(result) ? rewrittenLine(received.line, { ...response, result: tools }) : received.line,
      );
    };
    this.#expect(key, { holds: true, take });
  }

  /**
   * Refuses a whole batch if it contains a tool call or a resource read, because the gate does not
   * read batches. Forwards any other batch. Only one MCP revision allows batches.
   */
  #batch(line: Buffer, messages: readonly unknown[]): void {
    // Members of a batch are not examined, so assume that one of them changed the roots.
    this.#upstreamPaths.sawRoots();
    if (!messages.some((message) => GATED.has(fieldOf(message, 'method')))) {
      this.#ends.toUpstream(line);
      return;
    }
    const text = 'send tool calls one by one, not in a batch';
    const answers = messages.flatMap((message) => {
      const key = idKey(fieldOf(message, 'id'));
      const asks = typeof fieldOf(message, 'method') === 'string';
      return key === undefined || !asks ? [] : [errorLine(key, INVALID_REQUEST, text).toString()];
    });
    if (answers.length > 0) this.#ends.toClient(Buffer.from(`[${answers.join(',')}]`));
  }

  #awaitingOf(message: Received): AnswerWaiter | undefined {
    const { head } = message;
    const text = idBetween(head, message.tail);
    const key = text === undefined ? undefined : idKeyOfText(text);
    if (key !== undefined && !this.#waiting.has(key)) return undefined;
    if (key !== undefined && isPlainlyResponse(head)) return this.#take(key);
    // The message may be a request of the server, whose ids may equal those of the client. Parse it
    // to find out.
    const parsed = message.parse();
    if (parsed === undefined || parsed['method'] !== undefined) return undefined;
    return this.#take(idKey(parsed['id']) ?? '');
  }

  #expect(key: string, awaiting: AnswerWaiter): void {
    this.#take(key);
    this.#waiting.set(key, awaiting);
    if (awaiting.holds) this.#holding++;
  }

  #take(key: string): AnswerWaiter | undefined {
    const awaiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (awaiting?.holds === true) this.#holding--;
    return awaiting;
  }
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
 * True if the proxy can forward a client's message without further checks. The message must have
 * none of our `_meta` keys. It must also clearly be a response, or have only methods that do not
 * concern the proxy.
 */
function isIgnored(line: Buffer): boolean {
  if (line.includes(OUR_KEYS)) return false;
  const methods = methodsIn(line);
  if (methods.length === 0) return isPlainlyResponse(line.toString('latin1', 0, HEAD_BYTES));
  return methods.every((method) => method !== undefined && !HEEDED.has(method));
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
