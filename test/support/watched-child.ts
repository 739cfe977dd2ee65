import type { ChildProcess } from 'node:child_process';

/** How a process ended. `code` and `signal` are both null if it could not be started. */
export interface End {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A process that the child started may keep its output open. Later output is ignored. */
const OUTPUT_MS = 10_000;

/** Follows a child process, so that no test waits for output of a child that has ended. */
export class WatchedChild {
  /** Resolves when the child has ended and its output has arrived. Never rejects. */
  readonly ended: Promise<End>;
  readonly #name: string;
  #errors = '';

  /** `outputMs`: the time after the child's end in which its output must arrive. */
  constructor(child: ChildProcess, outputMs: number = OUTPUT_MS) {
    this.#name = child.spawnargs?.join(' ').slice(0, 300) ?? 'the program';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#errors += chunk;
    });
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null): void => resolve({ code, signal });
      child.once('close', end);
      child.once('exit', (code, signal) => void setTimeout(end, outputMs, code, signal).unref());
      child.once('error', (error) => {
        this.#errors += String(error);
        // A child that was never started emits no other event.
        if (child.pid === undefined) end(null, null);
      });
    });
  }

  /** Everything that the child has written to stderr, if that is a pipe. */
  get errors(): string {
    return this.#errors;
  }

  /** Resolves to the awaited result. Rejects with the child's stderr if the child ends first. */
  whileRunning<T>(result: Promise<T>): Promise<T> {
    const ended = this.ended.then(({ code, signal }) => {
      throw new Error(`${this.#name} ended early (${code ?? signal}): ${this.#errors}`);
    });
    const first = Promise.race([result, ended]);
    // A test may end, and with it the child, before it looks at the result.
    first.catch(() => undefined);
    return first;
  }
}
