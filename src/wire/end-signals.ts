import type { EventEmitter } from 'node:events';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type EndSignal = (typeof SIGNALS)[number];

/** Turns the termination signals into one promise. A second signal means "exit immediately". */
export class EndSignals {
  readonly first: Promise<EndSignal>;
  readonly second: AbortSignal;
  readonly #emitter: EventEmitter;
  readonly #listener: (signal: EndSignal) => void;

  /**
   * `emitter` is normally `process`. Until `close`, the termination signals no longer end the
   * process by themselves.
   */
  constructor(emitter: EventEmitter) {
    const { promise, resolve } = withResolver<EndSignal>();
    const hurry = new AbortController();
    let seen = false;
    this.first = promise;
    this.second = hurry.signal;
    this.#emitter = emitter;
    this.#listener = (signal) => {
      if (seen) hurry.abort();
      seen = true;
      resolve(signal);
    };
    for (const signal of SIGNALS) emitter.on(signal, this.#listener);
  }

  close(): void {
    for (const signal of SIGNALS) this.#emitter.off(signal, this.#listener);
  }
}

function withResolver<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((given) => {
    resolve = given;
  });
  return { promise, resolve };
}
