import type { PendingChange } from '../../model/entry.ts';

/** Maximum number of calls to remember. A call's last event rarely comes much later than its end. */
const MAX_CALLS = 1000;

/**
 * The hosts' calls whose results this process has recorded. A call without a delta has no journal
 * entry, so a second event about its end would pass for a call that was never judged.
 */
export class SettledCalls {
  readonly #calls = new Set<string>();

  note({ entry, host }: PendingChange): void {
    if (host?.call === undefined) return;
    this.#calls.add(nameOf(entry.session, host.call));
    const [oldest] = this.#calls;
    if (this.#calls.size > MAX_CALLS && oldest !== undefined) this.#calls.delete(oldest);
  }

  has(session: string, call: string): boolean {
    return this.#calls.has(nameOf(session, call));
  }
}

function nameOf(session: string, call: string): string {
  return JSON.stringify([session, call]);
}
