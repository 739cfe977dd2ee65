import { createHash } from 'node:crypto';

/**
 * How to treat a tool that may change files and that no table describes. `allow`: let it through.
 * `deny`: refuse it. `ask`: refuse it once, and let the same call through when it is repeated. All
 * three are recorded in the journal.
 */
export type UnknownTools = 'allow' | 'deny' | 'ask';

/** How many refused calls are remembered; beyond it the oldest is forgotten and would be refused again. */
const REMEMBERED = 1000;

/** Remembers which calls were refused once. */
export class AskedOnce {
  readonly #asked = new Set<string>();

  /** True the second time a session calls the same tool with the same arguments; then forgets the call. */
  again(session: string, tool: string, args: unknown): boolean {
    const key = createHash('sha256')
      .update(JSON.stringify([session, tool, args]))
      .digest('hex');
    if (this.#asked.delete(key)) return true;
    this.#asked.add(key);
    const [oldest] = this.#asked;
    if (this.#asked.size > REMEMBERED && oldest !== undefined) this.#asked.delete(oldest);
    return false;
  }
}
