import { metaOf } from './envelope.ts';
import { describe, failureResult } from './failure.ts';
import { isObject, isRequestId, type Request, type RequestId } from './message.ts';
import { notificationMessage, type Parts, toolMessage } from './outgoing.ts';
import { invalidParams } from './protocol.ts';
import type { Era, Implementation, JsonObject, ToolContext, ToolHost } from './tool-host.ts';

/** The peer of one call: in which era it spoke, and who it says it is. */
export interface Caller {
  readonly era: Era;
  readonly clientInfo: Implementation | undefined;
}

/** The tool calls in flight on one connection: each can be cancelled, and all can be waited for. */
export class Calls {
  readonly #host: ToolHost;
  readonly #send: (parts: Parts) => void;
  readonly #log: (line: string) => void;
  readonly #running = new Map<RequestId, AbortController>();
  #names: ReadonlySet<string> | undefined;
  #count = 0;
  #waiting: (() => void)[] = [];

  constructor(io: { host: ToolHost; send: (parts: Parts) => void; log: (line: string) => void }) {
    this.#host = io.host;
    this.#send = io.send;
    this.#log = io.log;
  }

  /** Runs a `tools/call` request; undefined if it was cancelled, for then nobody waits for an answer. */
  async run(request: Request, caller: Caller): Promise<Parts | undefined> {
    const { name, args } = this.#target(request.params);
    const controller = new AbortController();
    this.#running.set(request.id, controller);
    this.#count += 1;
    try {
      const context = this.#context(request, caller, controller.signal);
      const result = await this.#host.call(name, args, context).catch((error: unknown) => {
        if (!controller.signal.aborted) this.#log(`${name} failed: ${describe(error)}`);
        return failureResult(name, error);
      });
      if (controller.signal.aborted) return undefined;
      return toolMessage(request.id, result, { era: caller.era, info: this.#host.info });
    } finally {
      // A client that used one id twice must not lose the newer call's handle.
      if (this.#running.get(request.id) === controller) this.#running.delete(request.id);
      this.#settled();
    }
  }

  /** Cancels one call; its answer will not be sent. Unknown ids are ignored: the answer may have crossed the message. */
  cancel(id: unknown, reason: string): void {
    if (isRequestId(id)) this.#running.get(id)?.abort(new Error(reason));
  }

  /** Cancels every call. */
  cancelAll(reason: string): void {
    for (const controller of this.#running.values()) controller.abort(new Error(reason));
  }

  /** Resolves when no call is running. */
  async idle(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #target(params: JsonObject): { name: string; args: JsonObject } {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string') throw invalidParams('Invalid tools/call request: name must be a string');
    if (!isObject(args)) throw invalidParams('Invalid tools/call request: arguments must be an object');
    this.#names ??= new Set(this.#host.tools().map((tool) => tool.name));
    if (!this.#names.has(name)) throw invalidParams(`Tool ${name} not found`);
    return { name, args };
  }

  #context(request: Request, caller: Caller, signal: AbortSignal): ToolContext {
    const meta = metaOf(request.params);
    const token = meta['progressToken'];
    let last = Number.NEGATIVE_INFINITY;
    return {
      signal,
      meta,
      era: caller.era,
      clientInfo: caller.clientInfo,
      sessionHint: undefined,
      progress: (done, total, message) => {
        if (!isRequestId(token) || done <= last || signal.aborted || !this.#running.has(request.id)) return;
        last = done;
        const params = { progressToken: token, progress: done, total, message };
        this.#send(notificationMessage('notifications/progress', params));
      },
    };
  }

  #settled(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
