import { createHash } from 'node:crypto';

/**
 * What happens to a tool that may change files and that no table describes: let it through, refuse it, or refuse it
 * once and let the same call through when it comes again. All three are written into the journal.
 */
export type UnknownTools = 'allow' | 'deny' | 'ask';

/** How many refused calls are remembered; the oldest is asked about again. */
const REMEMBERED = 1000;

/** Remembers which calls were refused once. */
export class AskedOnce {
  readonly #asked = new Set<string>();

  /** True the second time a session calls the same tool with the same arguments; then it starts over. */
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
