import { entryFrom } from '../entry-columns.ts';
import { type ChainLink, CLAIM_KINDS, RECENT_ENTRIES, type RecentEntries } from '../store.ts';
import type { Connection } from './connection.ts';
import { SELECT_ENTRY, SELECT_HEAD } from './entry-rows.ts';

const KINDS = CLAIM_KINDS.map((kind) => `'${kind}'`).join(', ');
const SELECT_RECENT = `${SELECT_ENTRY} where seq > ? and kind in (${KINDS}) order by seq`;
/** Selects explicit claims older than the range that is searched; a partial index finds them. */
const SELECT_CLAIMS = `${SELECT_ENTRY} where kind = 'claim' and seq <= ? order by seq`;

/** Finds new entries by number. While no process writes, an answer needs only the query of the version number. */
export class RecentRows {
  readonly #db: Pick<Connection, 'sql'>;
  readonly #versionNow: () => number;
  /** Number of the newest entry that this connection knows. */
  #newest = 0;
  /** The database version for which `#newest` is valid. */
  #version = -1;

  constructor(db: Pick<Connection, 'sql'>, versionNow: () => number) {
    this.#db = db;
    this.#versionNow = versionNow;
  }

  /** Records entries appended by this connection, because its own writes do not change the version number. */
  appended({ seq }: ChainLink): void {
    this.#newest = seq;
  }

  /** The entries after a cursor, which is the number of the last returned entry. */
  after(cursor: number): RecentEntries {
    const version = this.#versionNow();
    if (version !== this.#version) this.#newest = (this.#db.sql(SELECT_HEAD).get() as ChainLink).seq;
    this.#version = version;
    if (cursor === this.#newest) return { entries: [], cursor };
    const after = cursor === 0 ? Math.max(0, this.#newest - RECENT_ENTRIES) : cursor;
    const older = cursor === 0 && after > 0 ? this.#db.sql(SELECT_CLAIMS).all(after) : [];
    const entries = [...older, ...this.#db.sql(SELECT_RECENT).all(after)].map(entryFrom);
    return { entries, cursor: Math.max(this.#newest, entries.at(-1)?.seq ?? 0) };
  }
}
