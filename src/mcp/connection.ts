import { ClientCall } from '../model/call.ts';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { Work } from '../model/waiting.ts';
import { describe, failureAnswer } from '../tools/failure.ts';
import { COMPACTED_METHOD, CONTEXT_KEY, TURN_KEY } from '../tools/session-choice.ts';
import type { ToolAnswer, ToolArguments, ToolContext } from '../tools/tool-answer.ts';
import { type ToolDefinition, type ToolHost, unknownTool } from '../tools/tool-host.ts';
import { INTERNAL_ERROR } from '../wire/rpc.ts';
import { type InputRequired, OpenQuestions, Questions, type Round } from './approval.ts';
import type { ClientRoots } from './client-roots.ts';
import {
  BATCH_VERSION,
  CAPABILITIES,
  canElicit,
  complete,
  type Envelope,
  type Era,
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
  toolMessage,
  unsupportedVersion,
} from './protocol.ts';

interface ConnectionOptions {
  readonly host: ToolHost;
  readonly send: Send;
  readonly log: (line: string) => void;
  /** The session of the transport, for calls that name none. */
  readonly sessionHint?: string | undefined;
  /** Receives the client's roots, if the server uses them. */
  readonly roots?: ClientRoots | undefined;
  /** Resolves when the server has read all input that has already arrived. */
  readonly inputRead?: (() => Promise<void>) | undefined;
}

/** The client of one call: its protocol (legacy or modern), and its name and version if given. */
interface Caller {
  readonly era: Era;
  readonly clientInfo: Implementation | undefined;
  /** True if the client can show a form to its user. */
  readonly canElicit: boolean;
}

/** Sends a whole message, without a newline. Returns false if the client does not get it. */
type Send = (parts: Parts) => boolean;

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
  readonly #io: ConnectionOptions;
  #era: 'open' | 'legacy' | 'modern' = 'open';
  #version: LegacyVersion | undefined;
  #clientInfo: Implementation | undefined;
  #canElicit = false;
  readonly #subscriptions = new Set<RequestId>();
  /** The arrival time of the message that is being handled, as `performance.now()`. */
  #arrivedAt = 0;
  #tools: ReadonlyMap<string, ToolDefinition> | undefined;
  /** The running calls, by the ids of their requests. Each can be cancelled, and all can be awaited. */
  readonly #running = new Map<RequestId, RunningCall>();
  readonly #work = new Work();
  readonly #questions: Questions;
  readonly #openQuestions = new OpenQuestions();

  constructor(io: ConnectionOptions) {
    this.#io = io;
    io.roots?.connect(io.send);
    this.#questions = new Questions(io.send);
  }

  /**
   * Handles one line of input and answers through `send`, now or later. Never throws, whatever the
   * line contains. The client wrote the line before it could see any answer sent after `arrivedAt`.
   */
  receive(line: Buffer, arrivedAt: number = performance.now()): void {
    this.#arrivedAt = arrivedAt;
    const read = readLine(line);
    const done = read.kind === 'batch' ? this.#batch(read.members) : this.#one(read, this.#io.send);
    done.catch((error: unknown) => this.#io.log(`a message could not be handled: ${String(error)}`));
  }

  /** Answers a line that was too long to be read. */
  refuseLine(maxBytes: number): void {
    this.#io.send(errorMessage(null, invalidRequest(`message over ${maxBytes} bytes`)));
  }

  /** Cancels every running call; their answers are not sent. */
  cancelAll(reason: string): void {
    for (const call of this.#running.values()) call.cancel(new Error(reason));
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    await this.#work.over();
  }

  /** Ends open subscriptions as the protocol requires: each gets an empty result. */
  endSubscriptions(): void {
    for (const id of this.#subscriptions)
      this.#io.send(resultMessage(id, this.#modernResult({ _meta: { [SUBSCRIPTION_ID_KEY]: id } })));
    this.#subscriptions.clear();
  }

  async #batch(members: readonly unknown[]): Promise<void> {
    if (this.#version !== BATCH_VERSION || members.length === 0) {
      const why = members.length === 0 ? 'empty batch' : `batches exist only in revision ${BATCH_VERSION}`;
      this.#io.send(errorMessage(null, invalidRequest(why)));
      return;
    }
    const answers: Parts[] = [];
    await Promise.all(
      members.map((member) => this.#one(readBatchMember(member), (parts) => answers.push(parts) > 0)),
    );
    if (answers.length === 0) return;
    this.#io.send(['[', ...answers.flatMap((parts, index) => (index === 0 ? parts : [',', ...parts])), ']']);
  }

  /**
   * Completes when the message was answered through `answer`, or needs no answer. A message takes
   * effect before this first waits, so that the next one in the same input meets that effect.
   */
  #one(message: Message, answer: Send): Promise<void> {
    if (message.kind !== 'request') return this.#unanswered(message, answer);
    return message.method === 'tools/call' ? this.#call(message, answer) : this.#requested(message, answer);
  }

  /** Handles a message that is no request. */
  async #unanswered(message: Exclude<Message, Request>, answer: Send): Promise<void> {
    if (message.kind === 'invalid') {
      // Use the words of the official filesystem server, so that searches written for its log also
      // work here.
      this.#io.log(`MCP filesystem transport error: ${message.error.message}`);
      answer(errorMessage(message.id, message.error));
    } else if (message.kind === 'response') {
      this.#io.roots?.answered(message.id, message.result);
      this.#questions.answered(message.id, message.result);
    } else await this.#notified(message);
  }

  async #notified({ method, params }: Notification): Promise<void> {
    if (method === 'notifications/cancelled') {
      const { requestId, reason } = params;
      if (isRequestId(requestId) && this.#subscriptions.delete(requestId)) return;
      // Ignore unknown ids: the answer may already be on its way.
      const why = typeof reason === 'string' ? reason : 'cancelled by the client';
      if (isRequestId(requestId)) this.#running.get(requestId)?.cancel(new Error(why));
    } else if (method === COMPACTED_METHOD) {
      const meta = { ...metaOf(params), [CONTEXT_KEY]: 'compacted' };
      await this.#io.host.report?.({ meta, sessionHint: this.#io.sessionHint });
    } else this.#io.roots?.notified(method);
  }

  /** Handles a request that is no call. A call applies the session events in its `_meta` when it runs. */
  async #requested(request: Request, answer: Send): Promise<void> {
    let parts: Parts;
    try {
      const caller = this.#caller(request);
      const meta = metaOf(request.params);
      if (CONTEXT_KEY in meta || TURN_KEY in meta)
        await this.#io.host.report?.({ meta, sessionHint: this.#io.sessionHint });
      parts = caller.era === 'modern' ? this.#modern(request) : this.#legacy(request);
    } catch (error) {
      parts = this.#failed(request, error);
    }
    answer(parts);
  }

  #failed({ id, method }: Request, error: unknown): Parts {
    if (error instanceof RpcError) return errorMessage(id, error);
    if (error instanceof Fault && error.code === 'MISUSE')
      return errorMessage(id, invalidParams(`Invalid params: ${error.message}`));
    this.#io.log(`${method} failed: ${String(error)}`);
    return errorMessage(id, internalError());
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

  /** Handles a `tools/call` request. A cancelled call is not answered. */
  async #call(request: Request, answer: Send): Promise<void> {
    let call: RunningCall | undefined;
    let parts: Parts | undefined;
    try {
      const caller = this.#caller(request);
      parts = this.#askingForRoots(request, caller);
      if (parts === undefined) {
        const { tool, args } = this.#target(request.params);
        call = this.#begun(request, caller);
        let found: ToolAnswer | InputRequired;
        try {
          // Wait for roots that are being fetched: a call after `roots/list_changed` is meant for the
          // new roots.
          const pending = this.#io.roots?.pending;
          if (pending !== undefined) await pending;
          found = await this.#io.host.call(tool.name, args, call);
        } catch (error) {
          found = call.round?.question() ?? this.#brokenCall(tool.name, call, error);
        }
        // Before answering, read the input that has already arrived. The client sent it before it could
        // see this answer, so its calls must have an arrival time before that of the answer.
        if (call.times.showsMore) await this.#io.inputRead?.();
        parts = this.#ended(call, tool, found);
      }
    } catch (error) {
      parts = this.#failed(request, error);
    }
    const answeredAt = performance.now();
    if (parts !== undefined && answer(parts)) call?.times.answered(answeredAt);
  }

  #begun(request: Request, caller: Caller): RunningCall {
    const { send, sessionHint } = this.#io;
    const call = new RunningCall(request, caller, { send, sessionHint, arrivedAt: this.#arrivedAt });
    this.#running.set(request.id, call);
    this.#work.begin();
    if (!caller.canElicit) return call;
    if (caller.era === 'modern') call.round = this.#openQuestions.begin(request.params);
    call.times.approve = call.round?.approve ?? ((question) => this.#questions.ask(question, call.signal));
    return call;
  }

  /** The answer of a call, which has ended. Undefined if the call was cancelled. */
  #ended(call: RunningCall, tool: ToolDefinition, answer: ToolAnswer | InputRequired): Parts | undefined {
    const { id } = call.request;
    try {
      if (call.cancelled) return undefined;
      const { info } = this.#io.host;
      return 'inputRequests' in answer
        ? inputRequiredMessage(id, { ...answer }, info)
        : toolMessage(id, answer, { tool, era: call.era, info });
    } finally {
      call.isAnswered = true;
      // If the client has reused the id, the map holds the newer call, which must stay.
      if (this.#running.get(id) === call) this.#running.delete(id);
      this.#work.end();
    }
  }

  #brokenCall(name: string, call: RunningCall, error: unknown): ToolAnswer {
    if (!call.cancelled) this.#io.log(`${name} failed: ${describe(error)}`);
    return failureAnswer(name, error);
  }

  #target(params: JsonRecord): { tool: ToolDefinition; args: ToolArguments } {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string') throw invalidParams('Invalid tools/call request: name must be a string');
    // Some models send the arguments as JSON text.
    if (!isRecord(args) && typeof args !== 'string')
      throw invalidParams('Invalid tools/call request: arguments must be an object');
    this.#tools ??= new Map(this.#io.host.tools().map((tool) => [tool.name, tool]));
    const tool = this.#tools.get(name);
    if (tool === undefined) throw invalidParams(unknownTool(name, [...this.#tools.keys()]));
    return { tool, args };
  }

  #legacy(request: Request): Parts {
    switch (request.method) {
      case 'tools/list':
        return resultMessage(request.id, { tools: this.#io.host.tools() });
      case 'initialize':
        return resultMessage(request.id, this.#initialize(request.params));
      case 'logging/setLevel':
        if (!LOG_LEVELS.includes(request.params['level']))
          throw invalidParams(`Invalid params: level must be one of ${LOG_LEVELS.join(', ')}`);
        return resultMessage(request.id, {});
      case 'ping':
        return resultMessage(request.id, {});
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
    this.#io.roots?.initialize(params['capabilities']);
    const { info, instructions } = this.#io.host;
    return { protocolVersion: version, capabilities: CAPABILITIES.legacy, serverInfo: info, instructions };
  }

  #modern({ id, method, params }: Request): Parts {
    switch (method) {
      case 'tools/list':
        return resultMessage(id, this.#modernResult({ tools: this.#io.host.tools(), ...UNCACHED }));
      case 'server/discover': {
        const { instructions } = this.#io.host;
        const found = { supportedVersions: MODERN_VERSIONS, capabilities: CAPABILITIES.modern, instructions };
        return resultMessage(id, this.#modernResult({ ...found, ...UNCACHED }));
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
  #listen(id: RequestId, params: JsonRecord): Parts {
    if (!isRecord(params['notifications']))
      throw invalidParams('Invalid params: notifications must be an object');
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new RpcError(INTERNAL_ERROR, `more than ${MAX_SUBSCRIPTIONS} open subscriptions`);
    this.#subscriptions.add(id);
    const acknowledged = { notifications: {}, _meta: { [SUBSCRIPTION_ID_KEY]: id } };
    return notificationMessage('notifications/subscriptions/acknowledged', acknowledged);
  }

  /**
   * The answer that asks a modern client for its roots before its first call runs; undefined if
   * nothing must be asked.
   */
  #askingForRoots({ id, params }: Request, { era }: Caller): Parts | undefined {
    const { roots } = this.#io;
    const inputRequests = era === 'modern' ? roots?.modernCall(params) : roots?.legacyCall();
    return inputRequests && inputRequiredMessage(id, { inputRequests }, this.#io.host.info);
  }

  #modernResult(result: JsonRecord): JsonRecord {
    return complete(result, { era: 'modern', info: this.#io.host.info });
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

type CallOptions = Pick<ConnectionOptions, 'send' | 'sessionHint'> & { readonly arrivedAt: number };

/**
 * The context of one call. Creates its abort signal on first access, because short calls never need
 * the signal.
 */
class RunningCall implements ToolContext {
  readonly request: Request;
  readonly meta: JsonRecord;
  readonly era: Era;
  readonly clientInfo: Implementation | undefined;
  readonly sessionHint: string | undefined;
  readonly times: ClientCall;
  /** True when the call has ended: a later notification would confuse the client. */
  isAnswered = false;
  /** The questions that a modern client gets as the answer to this call. */
  round: Round | undefined;
  readonly #send: ConnectionOptions['send'];
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #done = Number.NEGATIVE_INFINITY;

  constructor(request: Request, { era, clientInfo }: Caller, { send, arrivedAt, sessionHint }: CallOptions) {
    this.request = request;
    this.meta = metaOf(request.params);
    this.era = era;
    this.clientInfo = clientInfo;
    this.#send = send;
    this.sessionHint = sessionHint;
    this.times = new ClientCall(arrivedAt);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get cancelled(): boolean {
    return this.#reason !== undefined;
  }

  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  readonly progress = (done: number, total?: number, message?: string): void => {
    const token = this.meta['progressToken'];
    if (!isRequestId(token) || done <= this.#done || this.cancelled || this.isAnswered) return;
    this.#done = done;
    const params = { progressToken: token, progress: done, total, message };
    this.#send(notificationMessage('notifications/progress', params));
  };
}
