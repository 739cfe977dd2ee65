import { entryFrom, touchedKeys } from '../entry-columns.ts';
import type { Connection } from './connection.ts';
import { SELECT_ENTRY } from './entry-rows.ts';

/** Number of entries pruned per transaction: so few that other processes do not wait long for the lock. */
const PRUNE_STEP = 2000;

/** Removes the oldest entries up to and including a number. Returns how many were removed. */
export async function pruneEntries(db: Connection, throughSeq: number): Promise<number> {
  let pruned = 0;
  for (;;) {
    const count = db.transaction(() => pruneStep(db, throughSeq));
    pruned += count;
    if (count < PRUNE_STEP) return pruned;
    // Between two steps, let this process answer requests and other processes write.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function pruneStep(db: Connection, throughSeq: number): number {
  const rows = db.sql(`${SELECT_ENTRY} where seq <= ? order by seq limit ?`).all(throughSeq, PRUNE_STEP);
  const gone = rows.map(entryFrom);
  const last = gone.at(-1);
  if (last === undefined) return 0;
  for (const entry of gone) {
    for (const key of touchedKeys(entry))
      db.sql('delete from touches where key = ? and seq = ?').run(key, entry.seq);
  }
  db.sql('delete from entries where seq <= ?').run(last.seq);
  db.sql('update chain set checkpoint_seq = ?, checkpoint_hash = ?').run(last.seq, last.hash);
  // Each step of the pragma frees one page; `all` runs it to the end.
  db.sql('pragma incremental_vacuum').all();
  return gone.length;
}
