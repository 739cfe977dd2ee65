import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import { COMPACTED_METHOD, CONTEXT_KEY, eventsIn } from '../tools/session-events.ts';
import { Bearings } from './bearings.ts';
import { idOfRequest } from './call.ts';
import { Intercept } from './intercept.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { withReceiptTools } from './receipt-tools.ts';
import { Received } from './received.ts';
import {
  errorLine,
  INVALID_PARAMS,
  INVALID_REQUEST,
  idKey,
  idKeyOfText,
  metaOf,
  PARSE_ERROR,
  paramsOf,
  parseLine,
} from './rpc.ts';
import { idBetween, isPlainlyResponse, methodsIn } from './scan.ts';
import type { Awaiting, Wire } from './wire.ts';

/** Methods that are more than bytes to us. */
const HEEDED = new Set([
  'tools/call',
  'tools/list',
  'initialize',
  'server/discover',
  'resources/read',
  'notifications/cancelled',
  'notifications/roots/list_changed',
  COMPACTED_METHOD,
]);

/** Methods that the gate may refuse. */
const GATED = new Set<unknown>(['tools/call', 'resources/read']);

/** Methods that mean what they mean only once it is known who the server is, or that are about such. */
const DEPENDING = new Set<unknown>(['tools/call', 'notifications/cancelled']);

/** How the keys of `_meta` that are ours begin. */
const OUR_KEYS = Buffer.from('dev.lookfirst');

/** Beyond these bytes an answer need not show that it is one. */
const HEAD_BYTES = 256;

/** Where lines go. */
export interface Ends {
  toUpstream(line: Buffer): void;
  toClient(line: Buffer): void;
}

/** How long the end of a client's input waits for a server that does not answer. */
const PATIENCE_MS = 10_000;

/**
 * Passes messages between a client and a server as the bytes they came in: ids, tokens, unknown methods and everything
 * else stay as they are. Only tool calls stop at the gate, and only answers somebody waits for are looked into.
 */
export class Pump {
  readonly #ends: Ends;
  readonly #options: InterceptOptions;
  readonly #waiting = new Map<string, Awaiting>();
  #holding = 0;
  readonly #bearings: Bearings;
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
    this.#bearings = new Bearings(options.where);
    this.#intercept = new Intercept(options, wire, this.#bearings);
  }

  /** A message from the client. */
  fromClient(line: Buffer): void {
    if (passesUnread(line)) {
      this.#ends.toUpstream(line);
      return;
    }
    const message = parseLine(line);
    if (isRecord(message)) this.#heed(line, message);
    else if (Array.isArray(message)) this.#batch(line, message);
    else this.#ends.toClient(errorLine('null', PARSE_ERROR, 'Parse error'));
  }

  /** A line from the server. Anything that is no message is not the client's business. */
  fromUpstream(line: Buffer): void {
    const message = Received.whole(line);
    if (message.begins) this.received(message);
    else this.log(`not a message, dropped: ${line.toString('utf8', 0, 200)}`);
  }

  /** A message from the server, forwarded already or not. */
  received(message: Received): void {
    const awaiting = this.listens ? this.#awaitingOf(message) : undefined;
    if (awaiting !== undefined) awaiting.take(message);
    else if (!message.forwarded) this.#ends.toClient(message.line);
  }

  /** Somebody waits for an answer. */
  get listens(): boolean {
    return this.#waiting.size > 0;
  }

  /** Somebody waits for an answer that the client must not have before. */
  get holds(): boolean {
    return this.#holding > 0;
  }

  log(text: string): void {
    this.#options.log(text);
  }

  /** Everything that has come from the client has been forwarded or answered. */
  async idle(): Promise<void> {
    await this.#handshake.over();
    await this.#intercept.idle();
  }

  /** Calls the upstream has not answered yet. */
  get unanswered(): number {
    return this.#intercept.unanswered;
  }

  /** The upstream is gone. */
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
        this.#intercept.call(line, message);
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
        this.#bearings.sawClient(message);
        if (idKey(message['id']) !== undefined) this.#handshake.begin();
        this.#watch(message, (result) => {
          this.#options.catalogue.sawServer(result);
          this.#handshake.end();
        });
        break;
      case 'notifications/roots/list_changed':
        this.#bearings.sawRoots();
        break;
      case 'notifications/cancelled': {
        const key = idKey(paramsOf(message)['requestId']);
        if (key !== undefined) this.#intercept.cancelled(key);
        break;
      }
    }
    this.#ends.toUpstream(line);
  }

  /** Takes in what a message says about its conversation. False: nothing is left to do for it. */
  #reports(line: Buffer, message: JsonRecord): boolean {
    const ours = message['method'] === COMPACTED_METHOD;
    const meta = ours ? { ...metaOf(message), [CONTEXT_KEY]: 'compacted' } : metaOf(message);
    const events = eventsIn(meta);
    if (events.kind === 'events') this.#intercept.report(meta, events.apply);
    if (events.kind !== 'invalid') return !ours;
    this.log(events.reason);
    const id = idOfRequest(line, message)?.id;
    if (id !== undefined) this.#ends.toClient(errorLine(id, INVALID_PARAMS, events.reason));
    return false;
  }

  /** Looks at the answer while it passes. */
  #watch(message: JsonRecord, look: (result: unknown) => void): void {
    const key = idKey(message['id']);
    if (key === undefined) return;
    const take = (received: Received): void => {
      if (!received.forwarded) this.#ends.toClient(received.line);
      look(received.parse()?.['result']);
    };
    this.#expect(key, { holds: false, take });
  }

  /** With receipts, the tool list says what they add. */
  #rewriteTools(message: JsonRecord): void {
    const { catalogue } = this.#options;
    const take = (received: Received): void => {
      const response = received.parse();
      const result = response?.['result'];
      catalogue.sawTools(result);
      const tools = isRecord(result) ? withReceiptTools(result, (tool) => catalogue.rulesOf(tool)) : result;
      this.#ends.toClient(
        isRecord(result) ? Buffer.from(JSON.stringify({ ...response, result: tools })) : received.line,
      );
    };
    this.#expect(idKey(message['id']) ?? '', { holds: true, take });
  }

  /** Batches were legal in one revision only. One with a call or a read in it would pass the gate unseen: refused whole. */
  #batch(line: Buffer, messages: readonly unknown[]): void {
    // Who speaks in batches is not told apart: anything in one may have been about roots.
    this.#bearings.sawRoots();
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

  #awaitingOf(message: Received): Awaiting | undefined {
    const { head } = message;
    const text = idBetween(head, message.tail);
    const key = text === undefined ? undefined : idKeyOfText(text);
    if (key !== undefined && !this.#waiting.has(key)) return undefined;
    if (key !== undefined && isPlainlyResponse(head)) return this.#take(key);
    // Ids of requests in the other direction are of another series, and may be the same.
    const parsed = message.parse();
    if (parsed === undefined || parsed['method'] !== undefined) return undefined;
    return this.#take(idKey(parsed['id']) ?? '');
  }

  #expect(key: string, awaiting: Awaiting): void {
    this.#take(key);
    this.#waiting.set(key, awaiting);
    if (awaiting.holds) this.#holding++;
  }

  #take(key: string): Awaiting | undefined {
    const awaiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (awaiting?.holds === true) this.#holding--;
    return awaiting;
  }
}

/** A message whose method is plainly none of ours, or an answer to the server. Without either it may not even be JSON. */
function passesUnread(line: Buffer): boolean {
  if (line.includes(OUR_KEYS)) return false;
  const methods = methodsIn(line);
  if (methods.length === 0) return isPlainlyResponse(line.toString('latin1', 0, HEAD_BYTES));
  return methods.every((method) => method !== undefined && !HEEDED.has(method));
}

/**
 * Keeps calls back while a server has been asked who it is and has not answered: what they mean depends on it. A client
 * should wait for that answer itself; one that does not would have its first calls read by guesswork.
 */
class Handshake {
  #held: (() => void)[] | undefined;
  #onEnd: () => void = () => {};

  begin(): void {
    this.#held ??= [];
  }

  /** The answer has come, whatever it is, or never will. */
  end(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const act of held) act();
    this.#onEnd();
  }

  /** True: the act is done later, in its turn. */
  postpones(act: () => void): boolean {
    this.#held?.push(act);
    return this.#held !== undefined;
  }

  /** Resolves when nothing is held back any more, or when it has taken too long. */
  async over(): Promise<void> {
    if (this.#held === undefined || this.#held.length === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS);
      this.#onEnd = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
