import type { InterceptOptions } from './intercept-options.ts';
import { Pump } from './pump.ts';
import type { Upstream } from './upstream.ts';

/** One started server with the gate in front of it, for HTTP clients, which have no line streams. */
export class FrontConnection {
  readonly #upstream: Upstream;
  readonly #pump: Pump;
  #closing = false;

  constructor(upstream: Upstream, gate: InterceptOptions, toClient: (line: Buffer) => void) {
    this.#upstream = upstream;
    this.#pump = new Pump({ toUpstream: (line) => upstream.send(line), toClient }, gate);
    upstream.open({ onLine: (line) => this.#pump.fromUpstream(line), log: gate.log });
  }

  send(line: Buffer): void {
    this.#pump.fromClient(line);
  }

  /** Resolves when the server has ended, by itself or through `close`. */
  async ended(): Promise<void> {
    await this.#upstream.ended.catch(() => undefined);
    await this.#pump.close();
  }

  async close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      await this.#pump.idle();
      this.#upstream.close(() => this.#pump.unanswered > 0);
    }
    await this.ended();
  }
}
