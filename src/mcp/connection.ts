import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { COMPACTED_METHOD, CONTEXT_KEY, TURN_KEY } from '../tools/session-choice.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { INTERNAL_ERROR } from '../wire/rpc.ts';

import { type CallAnswer, type Caller, Calls, type CallsOptions } from './calls.ts';
import type { ClientRoots } from './client-roots.ts';
import {
  BATCH_VERSION,
  CAPABILITIES,
  canElicit,
  complete,
  type Envelope,
  envelopeOf,
  errorMessage,
  type Implementation,
  implementationOf,
  inputRequiredMessage,
  internalError,
  invalidParams,
  invalidRequest,
  isRequestId,
  LEGACY_VERSIONS,
  type LegacyVersion,
  type Message,
  MODERN_VERSIONS,
  metaOf,
  methodNotFound,
  type Notification,
  notificationMessage,
  type Parts,
  type Request,
  type RequestId,
  RpcError,
  readLine,
  readMessage,
  resultMessage,
  SUBSCRIPTION_ID_KEY,
  unsupportedVersion,
} from './protocol.ts';

/**
 * Tells clients not to cache lists: the lists never change while the server runs, but a restarted server may have
 * other tools.
 */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' } as const;
const MAX_SUBSCRIPTIONS = 1024;
/** Log levels are accepted but have no effect: errors go to stderr. */
const LOG_LEVELS: readonly unknown[] = 'debug info notice warning error critical alert emergency'.split(' ');
const MODERN_METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'tools/call',
  'subscriptions/listen',
]);

/**
 * Speaks the protocol with one client. The first request decides the era: a client is modern if the
 * request has the `_meta` fields of revision 2026-07-28. A modern `server/discover` decides
 * nothing, because clients use it to probe. Requests are answered as they finish, not in order.
 */
export class ClientConnection {
  readonly #host: ToolHost;
  readonly #send: (parts: Parts) => boolean;
  readonly #log: (line: string) => void;
  readonly #sessionHint: string | undefined;
  readonly #calls: Calls;
  #era: 'open' | 'legacy' | 'modern' = 'open';
  #version: LegacyVersion | undefined;
  #clientInfo: Implementation | undefined;
  #canElicit = false;
  readonly #subscriptions = new Set<RequestId>();
  readonly #roots: ClientRoots | undefined;

  /** `log` gets internal errors, for the user. */
  constructor(io: CallsOptions) {
    this.#host = io.host;
    this.#roots = io.roots;
    io.roots?.connect(io.send);
    this.#send = io.send;
    this.#log = io.log;
    this.#sessionHint = io.sessionHint;
    this.#calls = new Calls(io);
  }

  /**
   * Handles one line of input and answers through `send`, now or later. Never throws, whatever the
   * line contains. The client wrote the line before it could see any answer sent after `arrivedAt`.
   */
  receive(line: Buffer, arrivedAt: number = performance.now()): void {
    this.#calls.arrivedAt = arrivedAt;
    const read = readLine(line);
    const done = read.kind === 'batch' ? this.#batch(read.members) : this.#one(read, this.#send);
    done.catch((error: unknown) => this.#log(`a message could not be handled: ${String(error)}`));
  }

  /** Answers a line that was too long to be read. */
  refuseLine(maxBytes: number): void {
    this.#send(errorMessage(null, invalidRequest(`message over ${maxBytes} bytes`)));
  }

  /** Cancels every running call; their answers are not sent. */
  cancelAll(reason: string): void {
    this.#calls.cancelAll(reason);
  }

  /** Resolves when no call is running. */
  idle(): Promise<void> {
    return this.#calls.idle();
  }

  /** Ends open subscriptions as the protocol requires: each gets an empty result. */
  endSubscriptions(): void {
    for (const id of this.#subscriptions)
      this.#send(resultMessage(id, this.#modernResult({ _meta: { [SUBSCRIPTION_ID_KEY]: id } })));
    this.#subscriptions.clear();
  }

  async #batch(members: readonly unknown[]): Promise<void> {
    if (this.#version !== BATCH_VERSION || members.length === 0) {
      const why = members.length === 0 ? 'empty batch' : `batches exist only in revision ${BATCH_VERSION}`;
      this.#send(errorMessage(null, invalidRequest(why)));
      return;
    }
    const answers: Parts[] = [];
    await Promise.all(
      members.map((member) => this.#one(readBatchMember(member), (parts) => answers.push(parts) > 0)),
    );
    if (answers.length === 0) return;
    this.#send(['[', ...answers.flatMap((parts, index) => (index === 0 ? parts : [',', ...parts])), ']']);
  }

  /**
   * Completes when the message was answered through `answer`, or needs no answer. A message takes
   * effect before this first waits, so that the next one in the same input meets that effect.
   */
  async #one(message: Message, answer: (parts: Parts) => boolean): Promise<void> {
    if (message.kind !== 'request') return this.#unanswered(message, answer);
    let given: CallAnswer | undefined;
    try {
      given = await this.#answer(message);
    } catch (error) {
      given = this.#failed(message, error);
    }
    if (given !== undefined && answer(given.parts)) given.sent?.();
  }

  /** Handles a message that is no request. */
  async #unanswered(message: Exclude<Message, Request>, answer: (parts: Parts) => boolean): Promise<void> {
    if (message.kind === 'invalid') {
      // Use the words of the official filesystem server, so that searches written for its log also
      // work here.
      this.#log(`MCP filesystem transport error: ${message.error.message}`);
      answer(errorMessage(message.id, message.error));
    } else if (message.kind === 'response') {
      this.#roots?.answered(message.id, message.result);
      this.#calls.answered(message.id, message.result);
    } else await this.#notified(message);
  }

  async #notified({ method, params }: Notification): Promise<void> {
    if (method === 'notifications/cancelled') {
      const { requestId, reason } = params;
      if (isRequestId(requestId) && this.#subscriptions.delete(requestId)) return;
      this.#calls.cancel(requestId, typeof reason === 'string' ? reason : 'cancelled by the client');
    } else if (method === COMPACTED_METHOD) {
      const meta = { ...metaOf(params), [CONTEXT_KEY]: 'compacted' };
      await this.#host.report?.({ meta, sessionHint: this.#sessionHint });
    } else this.#roots?.notified(method);
  }

  #answer(request: Request): Promise<CallAnswer | undefined> | CallAnswer {
    const caller = this.#caller(request);
    // A tool call applies the session events (a compaction, a new turn) in its `_meta` when it runs.
    if (request.method === 'tools/call') return this.#call(request, caller);
    const meta = metaOf(request.params);
    const answered = (): CallAnswer =>
      caller.era === 'modern' ? this.#modern(request) : this.#legacy(request);
    if (!(CONTEXT_KEY in meta || TURN_KEY in meta) || this.#host.report === undefined) return answered();
    return this.#host.report({ meta, sessionHint: this.#sessionHint }).then(answered);
  }

  #call(request: Request, caller: Caller): Promise<CallAnswer | undefined> | CallAnswer {
    const asking = caller.era === 'modern' ? this.#askingForRoots(request) : this.#roots?.legacyCall();
    return asking ?? this.#calls.run(request, caller);
  }

  #failed({ id, method }: Request, error: unknown): CallAnswer {
    if (error instanceof RpcError) return { parts: errorMessage(id, error) };
    if (error instanceof Fault && error.code === 'MISUSE')
      return { parts: errorMessage(id, invalidParams(`Invalid params: ${error.message}`)) };
    this.#log(`${method} failed: ${String(error)}`);
    return { parts: errorMessage(id, internalError()) };
  }

  /**
   * The client that sent a request, with its protocol era: modern or legacy. The era is fixed for
   * the connection by the first request that shows it.
   */
  #caller(request: Request): Caller {
    if (this.#era === 'legacy')
      return { era: 'legacy', clientInfo: this.#clientInfo, canElicit: this.#canElicit };
    const envelope = envelopeOf(request.params);
    if (envelope.kind === 'modern') {
      if (request.method !== 'server/discover') this.#era = 'modern';
      return { era: 'modern', clientInfo: envelope.clientInfo, canElicit: envelope.canElicit };
    }
    if (this.#era === 'modern') throw withoutEnvelope(request, envelope);
    if (envelope.kind === 'invalid' && request.method !== 'initialize') throw envelope.error;
    this.#era = 'legacy';
    return { era: 'legacy', clientInfo: undefined, canElicit: false };
  }

  #legacy(request: Request): CallAnswer {
    switch (request.method) {
      case 'tools/list':
        return { parts: resultMessage(request.id, { tools: this.#host.tools() }) };
      case 'initialize':
        return { parts: resultMessage(request.id, this.#initialize(request.params)) };
      case 'logging/setLevel':
        if (!LOG_LEVELS.includes(request.params['level']))
          throw invalidParams(`Invalid params: level must be one of ${LOG_LEVELS.join(', ')}`);
        return { parts: resultMessage(request.id, {}) };
      case 'ping':
        return { parts: resultMessage(request.id, {}) };
      default:
        throw methodNotFound();
    }
  }

  #initialize(params: JsonRecord): JsonRecord {
    const requested = params['protocolVersion'];
    if (typeof requested !== 'string')
      throw invalidParams('Invalid initialize request: protocolVersion must be a string');
    const version = LEGACY_VERSIONS.find((known) => known === requested) ?? LEGACY_VERSIONS[0];
    this.#version = version;
    this.#clientInfo = implementationOf(params['clientInfo']);
    this.#canElicit = canElicit(params['capabilities']);
    this.#roots?.initialize(params['capabilities']);
    const { info, instructions } = this.#host;
    return { protocolVersion: version, capabilities: CAPABILITIES.legacy, serverInfo: info, instructions };
  }

  #modern({ id, method, params }: Request): CallAnswer {
    switch (method) {
      case 'tools/list':
        return { parts: resultMessage(id, this.#modernResult({ tools: this.#host.tools(), ...UNCACHED })) };
      case 'server/discover': {
        const { instructions } = this.#host;
        const found = { supportedVersions: MODERN_VERSIONS, capabilities: CAPABILITIES.modern, instructions };
        return { parts: resultMessage(id, this.#modernResult({ ...found, ...UNCACHED })) };
      }
      case 'subscriptions/listen':
        return this.#listen(id, params);
      default:
        throw methodNotFound();
    }
  }

  /**
   * Accepts a subscription, although this server never sends events. The request stays open until
   * either side ends it.
   */
  #listen(id: RequestId, params: JsonRecord): CallAnswer {
    if (!isRecord(params['notifications']))
      throw invalidParams('Invalid params: notifications must be an object');
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new RpcError(INTERNAL_ERROR, `more than ${MAX_SUBSCRIPTIONS} open subscriptions`);
    this.#subscriptions.add(id);
    const acknowledged = { notifications: {}, _meta: { [SUBSCRIPTION_ID_KEY]: id } };
    return { parts: notificationMessage('notifications/subscriptions/acknowledged', acknowledged) };
  }

  /**
   * The result that asks a modern client for its roots before its first call runs; undefined if
   * nothing must be asked.
   */
  #askingForRoots({ id, params }: Request): CallAnswer | undefined {
    const inputRequests = this.#roots?.modernCall(params);
    if (inputRequests === undefined) return undefined;
    return { parts: inputRequiredMessage(id, { inputRequests }, this.#host.info) };
  }

  #modernResult(result: JsonRecord): JsonRecord {
    return complete(result, { era: 'modern', info: this.#host.info });
  }
}

/**
 * The error for a request of a modern client without valid `_meta` fields of revision 2026-07-28.
 */
function withoutEnvelope(request: Request, envelope: Envelope): RpcError {
  if (request.method === 'initialize') return unsupportedVersion(String(request.params['protocolVersion']));
  if (envelope.kind === 'invalid') return envelope.error;
  if (!MODERN_METHODS.has(request.method)) return methodNotFound();
  return invalidParams('Request is missing the _meta envelope of protocol revision 2026-07-28');
}

function readBatchMember(value: unknown): Message {
  const message = readMessage(value);
  if (message.kind !== 'request' || message.method !== 'initialize') return message;
  return { kind: 'invalid', id: message.id, error: invalidRequest('initialize inside a batch') };
}
