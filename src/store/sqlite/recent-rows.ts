import type { Entry } from '../../model/entry.ts';
import { entryFrom } from '../entry-columns.ts';
import { type ChainLink, CLAIM_KINDS, RECENT_ENTRIES, type RecentEntries } from '../store.ts';
import type { Connection } from './connection.ts';
import { type Appended, SELECT_ENTRY, SELECT_HEAD } from './entry-rows.ts';

const KINDS = CLAIM_KINDS.map((kind) => `'${kind}'`).join(', ');
/**
 * Selects new entries. Leaves out changes before a time: a command's entry may have megabytes of
 * effects, and parsing those of the last days would delay the start of every process.
 */
const SELECT_RECENT =
  `${SELECT_ENTRY} where seq > ? and kind in (${KINDS}) ` +
  "and (kind <> 'change' or at_ms >= ?) order by seq";
/**
 * Selects all entries about explicit claims, up to an entry number. `SELECT_RECENT` selects the
 * newer entries.
 */
const SELECT_CLAIMS = `${SELECT_ENTRY} where kind = 'claim' and seq <= ? order by seq`;

/**
 * `RecentRows` keeps at most `MAX_OWN` entries in memory, each with at most `MAX_EFFECTS` effects:
 * a command's entry may have megabytes of effects. Beyond these limits, it drops all entries from
 * memory and queries the database.
 */
const [MAX_OWN, MAX_EFFECTS] = [64, 100];

/**
 * Finds new entries by number. Keeps in memory the entries that this connection appended, so that
 * it queries the database only after another connection has written.
 */
export class RecentRows {
  readonly #db: Pick<Connection, 'sql'>;
  readonly #versionNow: () => number;
  /** Number of the newest entry that this connection knows. */
  #newest = 0;
  /** The database version for which `#newest` is valid. */
  #version = -1;
  /** All entries of {@link CLAIM_KINDS} with numbers above `after`, up to `through`. */
  #own: { after: number; through: number; entries: Entry[] } = { after: 0, through: -1, entries: [] };

  constructor(db: Pick<Connection, 'sql'>, versionNow: () => number) {
    this.#db = db;
    this.#versionNow = versionNow;
  }

  /**
   * Adds entries that this connection appended. `#version` stays valid, because a connection's own
   * writes do not change the database version.
   */
  appended({ after, head, recent }: Appended): void {
    this.#newest = head.seq;
    if (this.#own.through !== after) this.#own = { after, through: after, entries: [] };
    const own = this.#own;
    own.through = head.seq;
    own.entries.push(...recent);
    const last = recent.at(-1);
    const isLarge = recent.some(({ effects = [] }) => effects.length > MAX_EFFECTS);
    if (last !== undefined && (isLarge || own.entries.length > MAX_OWN))
      this.#own = { after: last.seq, through: head.seq, entries: [] };
  }

  /** The entries after a cursor, which is an entry number. May leave out changes before `changesSinceMs`. */
  after(cursor: number, changesSinceMs: number): RecentEntries {
    const version = this.#versionNow();
    if (version !== this.#version) this.#newest = (this.#db.sql(SELECT_HEAD).get() as ChainLink).seq;
    this.#version = version;
    if (cursor === this.#newest) return { entries: [], cursor };
    const { after: known, through, entries: own } = this.#own;
    // Search from the end: the entries are sorted by number, and usually only the newest follow the
    // cursor.
    if (cursor >= known && through === this.#newest)
      return { entries: own.slice(own.findLastIndex(({ seq }) => seq <= cursor) + 1), cursor: through };
    const after = cursor === 0 ? Math.max(0, this.#newest - RECENT_ENTRIES) : cursor;
    const older = cursor === 0 && after > 0 ? this.#db.sql(SELECT_CLAIMS).all(after) : [];
    const entries = [...older, ...this.#db.sql(SELECT_RECENT).all(after, changesSinceMs)].map(entryFrom);
    return { entries, cursor: Math.max(this.#newest, entries.at(-1)?.seq ?? 0) };
  }
}
