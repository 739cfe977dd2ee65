import type { Entry, NewEntry } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import { ENTRY_COLUMNS, entryFrom } from '../entry-columns.ts';
import { RECENT_ENTRIES, type RecentChanges } from '../store.ts';
import type { PgValue, Row } from './driver.ts';

const NEVER = Number.NEGATIVE_INFINITY;

/** Other processes' entries are fetched at most this often, and only while callers need them. */
const POLL_MS = 1000;
/** The first fetch returns changes up to this age. */
const LOOK_BACK_MS = 15 * 60_000;

interface Source {
  readonly schema: string;
  /** The id of the hash chain to which this store appends its journal entries. */
  readonly chain: string;
  query(text: string, values: readonly PgValue[]): Promise<readonly Row[]>;
  /** Converts the paths in an entry to those of this machine. */
  local(entry: Entry): Entry;
}

/**
 * Implements `Store.changesSince`. Returns this store's own changes at once, and those of other
 * processes up to a second late. Each fetch continues at a transaction id, because entries are not
 * committed in the order of their numbers.
 */
export class RecentFollower {
  readonly #source: Source;
  /** In the order in which this process learned of them. */
  #changes: NewEntry[] = [];
  #seenTx: string | undefined;
  #polledMs = NEVER;
  #polling = false;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Adds entries that this store has recorded. */
  recorded(entries: readonly NewEntry[]): void {
    for (const entry of entries) if (entry.kind === 'change') this.#changes.push(entry);
    if (this.#changes.length > 2 * RECENT_ENTRIES) this.#changes = this.#changes.slice(-RECENT_ENTRIES);
  }

  since({ sinceMs, key, notBy }: RecentChanges): readonly NewEntry[] {
    if (!this.#polling && performance.now() - this.#polledMs >= POLL_MS) void this.#poll();
    const isWanted = ({ atMs, session, effects = [] }: NewEntry): boolean =>
      atMs >= sinceMs && session !== notBy && (key === undefined || effects.some((each) => each.key === key));
    return this.#changes.filter(isWanted).sort((a, b) => b.atMs - a.atMs);
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    this.#polledMs = performance.now();
    try {
      await this.#fetch();
    } catch (error) {
      // Ignore the failure: other sessions' claims on files are only advice, and the next poll
      // fetches the missing changes.
      if (!(error instanceof Fault)) throw error;
    } finally {
      this.#polling = false;
    }
  }

  async #fetch(): Promise<void> {
    const { schema, chain, query, local } = this.#source;
    const [row] = await query('select pg_snapshot_xmin(pg_current_snapshot())::text as mark', []);
    const mark = String(row?.['mark']);
    if (mark === this.#seenTx) return;
    const now = Date.now();
    const [clause, since] =
      this.#seenTx === undefined
        ? ['at_ms >= $3', now - LOOK_BACK_MS]
        : ['tx >= $3::text::xid8', this.#seenTx];
    const rows = await query(
      `select seq, ${ENTRY_COLUMNS} from ${schema}.entries
       where chain <> $1 and tx < $2::text::xid8 and kind = 'change' and ${clause} order by seq`,
      [chain, mark, since],
    );
    this.#seenTx = mark;
    // Limit times to now. Otherwise claims on files from a machine whose clock is ahead would last
    // longer.
    const entries = rows.map(entryFrom).map((entry) => ({ ...entry, atMs: Math.min(entry.atMs, now) }));
    this.recorded(entries.map(local));
  }
}
