import { Fault } from '../../model/fault.ts';
import { entryFrom, touchedKeys } from '../entry-columns.ts';
import type { Connection } from './connection.ts';
import { SELECT_ENTRY } from './entry-rows.ts';

/**
 * Limits of one transaction, so that other processes do not wait long for the lock. A limit of
 * entries alone is not enough: the entry of a command that changed many files takes megabytes, and
 * has a row in `touches` for each file.
 */
const [MAX_ENTRIES, MAX_BYTES] = [2000, 4 << 20];

const SELECT_SIZES =
  'select seq, octet_length(entry) as bytes from entries where seq <= ? order by seq limit ?';
const DELETE_TOUCHES = 'delete from touches where seq = ? and key in (select value from json_each(?))';

/** Removes the oldest entries up to and including a number. Returns how many were removed. */
export async function pruneOldest(db: Connection, throughSeq: number): Promise<number> {
  let pruned = 0;
  for (;;) {
    const { count, isLast } = db.transaction(() => pruneStep(db, throughSeq));
    pruned += count;
    if (isLast) break;
    // Between two steps, let this process answer requests and other processes write.
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (pruned > 0) freeSpace(db);
  return pruned;
}

/**
 * Copies the write-ahead log into the database file, so that the file shrinks now. Otherwise the
 * file would shrink only when the log is full. Ignores failures, for example on a full disk: SQLite
 * tries again later.
 */
function freeSpace(db: Connection): void {
  try {
    db.attempt(() => db.sql('pragma wal_checkpoint(passive)').get());
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
}

function pruneStep(db: Connection, throughSeq: number): { readonly count: number; readonly isLast: boolean } {
  // The cast is safe: the select determines the shape.
  const sizes = db.sql(SELECT_SIZES).all(throughSeq, MAX_ENTRIES) as { seq: number; bytes: number }[];
  const fitting = sizes.slice(0, fittingCount(sizes));
  const end = fitting.at(-1)?.seq;
  if (end === undefined) return { count: 0, isLast: true };
  const gone = db.sql(`${SELECT_ENTRY} where seq <= ? order by seq`).all(end).map(entryFrom);
  for (const entry of gone) {
    const keys = touchedKeys(entry);
    if (keys.length > 0) db.sql(DELETE_TOUCHES).run(entry.seq, JSON.stringify(keys));
  }
  db.sql('delete from entries where seq <= ?').run(end);
  db.sql('update chain set checkpoint_seq = ?, checkpoint_hash = ?').run(end, gone.at(-1)?.hash ?? '');
  // Each step of the pragma frees one page; `all` runs it to the end.
  db.sql('pragma incremental_vacuum').all();
  return { count: gone.length, isLast: fitting.length === sizes.length && sizes.length < MAX_ENTRIES };
}

/** The number of entries to remove in one transaction; at least one, if there is any. */
function fittingCount(sizes: readonly { readonly bytes: number }[]): number {
  let total = 0;
  const first = sizes.findIndex(({ bytes }, index) => {
    total += bytes;
    return index > 0 && total > MAX_BYTES;
  });
  return first === -1 ? sizes.length : first;
}
