import { Records } from '../records/records.ts';
import { recordsPlaceOf } from '../session/configured.ts';
import type { Cli } from './cli.ts';
import type { Terminal } from './terminal.ts';

const BAR = 24;
/** The time between two updates of the bar. Each update costs a system call. */
const STEP_MS = 80;
/** Work that takes less time than this shows no message. */
const WAIT_MS = 1000;

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

  /** For work without known steps: shows `what` if the work takes longer than a second, until it ends. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    const show = (): void => {
      this.#shownMs = Date.now();
      this.#terminal.overwrite(`${what} …`);
    };
    const timer = this.#terminal.showsProgress ? setTimeout(show, WAIT_MS) : undefined;
    try {
      return await work;
    } finally {
      clearTimeout(timer);
      this.end();
    }
  }

  end(): void {
    if (this.#shownMs > 0) this.#terminal.overwrite('');
    this.#shownMs = 0;
  }
}

/**
 * Shows that the store is being opened. This may take long for a store that several machines share:
 * the first process creates the tables, and the others wait for that.
 */
export function opening<T>({ terminal }: Pick<Cli, 'terminal'>, work: Promise<T>): Promise<T> {
  return new Progress(terminal).during('opening the store', work);
}

/**
 * Opens the records in the places that the flags name, and closes them after `use`. `missing`: what
 * to do if nothing is recorded there yet.
 */
export async function withRecords<T>(
  cli: Cli,
  flags: Parameters<typeof recordsPlaceOf>[1],
  use: (records: Records) => Promise<T>,
  { missing = 'read as empty' }: { readonly missing?: 'read as empty' | 'create' } = {},
): Promise<T> {
  const places = recordsPlaceOf(cli, flags);
  const records = await opening(
    cli,
    missing === 'create' ? Records.openOrCreate(places) : Records.open(places),
  );
  try {
    return await use(records);
  } finally {
    await records.close();
  }
}

/** Formats the bar: `[########----------------] 33 %`. */
export function bar(done: number, total: number): string {
  const part = total <= 0 ? 1 : Math.min(1, Math.max(0, done / total));
  const full = Math.floor(part * BAR);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR - full)}] ${Math.floor(part * 100)} %`;
}
