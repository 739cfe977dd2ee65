import type { Terminal } from './terminal.ts';

const BAR = 24;
/** The time between two updates of the bar. Each update costs a system call. */
const STEP_MS = 80;

/** A bar on stderr while something takes long; silent unless stderr is a terminal. */
export class Progress {
  readonly #terminal: Terminal;
  #shownMs = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  update(what: string, done: number, total: number): void {
    if (!this.#terminal.showsProgress) return;
    const now = Date.now();
    if (now - this.#shownMs < STEP_MS && done < total) return;
    this.#shownMs = now;
    this.#terminal.overwrite(`${what} ${bar(done, total)}`);
  }

  end(): void {
    if (this.#shownMs > 0) this.#terminal.overwrite('');
    this.#shownMs = 0;
  }
}

/** Formats the bar: `[########----------------] 33 %`. */
export function bar(done: number, total: number): string {
  const part = total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
  const full = Math.floor(part * BAR);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR - full)}] ${Math.floor(part * 100)} %`;
}
