import { ClientCall } from '../model/call.ts';
import { isRecord, type JsonRecord } from '../model/record.ts';
import { describe, failureAnswer } from '../tools/failure.ts';
import type { ToolAnswer, ToolArguments, ToolContext } from '../tools/tool-answer.ts';
import { type ToolDefinition, type ToolHost, unknownTool } from '../tools/tool-host.ts';
import { type InputRequired, OpenQuestions, Questions } from './approval.ts';
import type { ClientRoots } from './client-roots.ts';
import {
  type Era,
  type Implementation,
  inputRequiredMessage,
  invalidParams,
  isRequestId,
  metaOf,
  notificationMessage,
  type Parts,
  type Request,
  type RequestId,
  toolMessage,
} from './protocol.ts';

/** The client of one call: its protocol (legacy or modern), and its name and version if given. */
export interface Caller {
  readonly era: Era;
  readonly clientInfo: Implementation | undefined;
  /** True if the client can show a form to its user. */
  readonly canElicit: boolean;
}

export interface CallsOptions {
  readonly host: ToolHost;
  /** Sends a whole message, without a newline. Returns false if the client does not get it. */
  readonly send: (parts: Parts) => boolean;
  readonly log: (line: string) => void;
  /** The session of the transport, for calls that name none. */
  readonly sessionHint?: string | undefined;
  /** Receives the client's roots, if the server uses them. */
  readonly roots?: ClientRoots | undefined;
  /** Resolves when the server has read all input that has already arrived. */
  readonly inputRead?: (() => Promise<void>) | undefined;
}

/** The answer to a request. `sent` is called when the client gets it. */
export interface CallAnswer {
  readonly parts: Parts;
  readonly sent?: () => void;
}

/** The running tool calls of one connection. Each can be cancelled, and all can be awaited. */
export class Calls {
  readonly #host: ToolHost;
  readonly #send: (parts: Parts) => boolean;
  readonly #log: (line: string) => void;
  readonly #inputRead: (() => Promise<void>) | undefined;
  readonly #sessionHint: string | undefined;
  readonly #roots: ClientRoots | undefined;
  readonly #running = new Map<RequestId, RunningCall>();
  /** The arrival time of the message that is being handled, as `performance.now()`. */
  arrivedAt = 0;
  #tools: ReadonlyMap<string, ToolDefinition> | undefined;
  readonly #questions: Questions;
  readonly #openQuestions = new OpenQuestions();
  #count = 0;
  #waiting: (() => void)[] = [];

  constructor(io: CallsOptions) {
    this.#host = io.host;
    this.#send = io.send;
    this.#log = io.log;
    this.#inputRead = io.inputRead;
    this.#sessionHint = io.sessionHint;
    this.#roots = io.roots;
    this.#questions = new Questions(io.send);
  }

  /** Runs a `tools/call` request. Undefined if the call was cancelled, because then no answer is sent. */
  async run(request: Request, caller: Caller): Promise<CallAnswer | undefined> {
    const { tool, args } = this.#target(request.params);
    const call = new RunningCall(request, caller, {
      tell: (parts) => this.#tell(request.id, parts),
      sessionHint: this.#sessionHint,
      arrivedAt: this.arrivedAt,
    });
    const round =
      caller.canElicit && caller.era === 'modern' ? this.#openQuestions.begin(request.params) : undefined;
    if (round !== undefined) call.times.approve = round.approve;
    else if (caller.canElicit) call.times.approve = (question) => this.#questions.ask(question, call.signal);
    this.#running.set(request.id, call);
    this.#count += 1;
    let answer: ToolAnswer | InputRequired;
    try {
      // Wait for roots that are being fetched: a call after `roots/list_changed` is meant for the
      // new roots.
      const pending = this.#roots?.pending;
      if (pending !== undefined) await pending;
      answer = await this.#host.call(tool.name, args, call);
    } catch (error) {
      answer = round?.question() ?? this.#failed(tool.name, call, error);
    }
    // Before answering, read the input that has already arrived. The client sent it before it could
    // see this answer, so its calls must have an arrival time before that of the answer.
    if (call.times.showsMore) await this.#inputRead?.();
    return this.#answer(call, tool, answer);
  }

  #answer(
    call: RunningCall,
    tool: ToolDefinition,
    answer: ToolAnswer | InputRequired,
  ): CallAnswer | undefined {
    const { id } = call.request;
    try {
      if (call.cancelled) return undefined;
      const { info } = this.#host;
      if ('inputRequests' in answer) return { parts: inputRequiredMessage(id, { ...answer }, info) };
      const parts = toolMessage(id, answer, { tool, era: call.era, info });
      const answeredAt = performance.now();
      return { parts, sent: () => call.times.answered(answeredAt) };
    } finally {
      // If the client has reused the id, the map holds the newer call, which must stay.
      if (this.#running.get(id) === call) this.#running.delete(id);
      this.#settled();
    }
  }

  #failed(name: string, call: RunningCall, error: unknown): ToolAnswer {
    if (!call.cancelled) this.#log(`${name} failed: ${describe(error)}`);
    return failureAnswer(name, error);
  }

  /**
   * Cancels one call; its answer is not sent. Unknown ids are ignored: the answer may already be on
   * its way.
   */
  cancel(id: unknown, reason: string): void {
    if (isRequestId(id)) this.#running.get(id)?.cancel(new Error(reason));
  }

  /** Passes the client's answer to the open question with this id. Ignores an answer with any other id. */
  answered(id: unknown, result: unknown): void {
    this.#questions.answered(id, result);
  }

  /** Cancels every call. */
  cancelAll(reason: string): void {
    for (const call of this.#running.values()) call.cancel(new Error(reason));
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #target(params: JsonRecord): { tool: ToolDefinition; args: ToolArguments } {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string') throw invalidParams('Invalid tools/call request: name must be a string');
    // Some models send the arguments as JSON text.
    if (!isRecord(args) && typeof args !== 'string')
      throw invalidParams('Invalid tools/call request: arguments must be an object');
    this.#tools ??= new Map(this.#host.tools().map((tool) => [tool.name, tool]));
    const tool = this.#tools.get(name);
    if (tool === undefined) throw invalidParams(unknownTool(name, [...this.#tools.keys()]));
    return { tool, args };
  }

  /** Sends a notification only while the call is running; a later one would confuse the client. */
  #tell(id: RequestId, parts: Parts): void {
    if (this.#running.has(id)) this.#send(parts);
  }

  #settled(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

interface CallOptions {
  readonly tell: (parts: Parts) => void;
  readonly sessionHint: string | undefined;
  readonly arrivedAt: number;
}

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
  readonly #tell: (parts: Parts) => void;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #done = Number.NEGATIVE_INFINITY;

  constructor(request: Request, { era, clientInfo }: Caller, { tell, arrivedAt, sessionHint }: CallOptions) {
    this.request = request;
    this.meta = metaOf(request.params);
    this.era = era;
    this.clientInfo = clientInfo;
    this.#tell = tell;
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
    if (!isRequestId(token) || done <= this.#done || this.cancelled) return;
    this.#done = done;
    const params = { progressToken: token, progress: done, total, message };
    this.#tell(notificationMessage('notifications/progress', params));
  };
}
