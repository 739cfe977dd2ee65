import { CHAIN_START } from '../chain.ts';
import type { ChainState, StoreState } from '../store.ts';
import type { PostgresConnection } from './connection.ts';
import type { Row } from './driver.ts';
import { CHAIN_IDLE_MS } from './record-writer.ts';
import { dayOf } from './schema.ts';

/**
 * Maximum number of entries that one transaction deletes row by row. In addition, it may drop the
 * tables of whole days, without a limit.
 */
const PRUNE_STEP = 20_000;

/** The journal's hash chains, its size, and whether this database user may delete entries. */
export async function journalState(db: PostgresConnection): Promise<StoreState> {
  const [[size], rows] = await Promise.all([
    db.query(
      `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint as bytes,
         has_table_privilege('${db.schema}.entries', 'delete') as prunes from pg_class
       where relnamespace = $1::text::regnamespace and relkind = 'r'`,
      [db.schema],
    ),
    db.query(`select * from ${db.schema}.chains order by seq`),
  ]);
  const chains = rows.map(chainState);
  const cut = Math.max(0, ...rows.map((row) => Number(row['checkpoint_seq'])));
  const cutRow = rows.find((row) => Number(row['checkpoint_seq']) === cut);
  const last = rows.at(-1);
  return {
    chains,
    checkpoint: cut === 0 ? CHAIN_START : { seq: cut, hash: String(cutRow?.['checkpoint_hash']) },
    head: last === undefined ? CHAIN_START : { seq: Number(last['seq']), hash: String(last['hash']) },
    witness: undefined,
    bytes: Number(size?.['bytes']),
    ...(size?.['prunes'] === true ? {} : { mayPrune: false }),
  };
}

/** Removes the entries numbered up to `throughSeq`. Returns the number of removed entries. */
export async function pruneEntries(db: PostgresConnection, throughSeq: number): Promise<number> {
  for (let pruned = 0; ; ) {
    const values = [throughSeq, dayOf(Date.now()), PRUNE_STEP];
    const [row] = await db.maintain(`select ${db.schema}.lf_prune($1, $2, $3) as gone`, values);
    const gone = Number(row?.['gone']);
    pruned += gone;
    if (gone >= PRUNE_STEP) continue;
    await dropChains(db);
    return pruned;
  }
}

/** Removes the entries of reads before `beforeMs`. Returns the number of removed entries. */
export async function pruneReads(db: PostgresConnection, beforeMs: number): Promise<number> {
  let after: unknown = '';
  for (let pruned = 0; ; ) {
    const values = [beforeMs, PRUNE_STEP, String(after)];
    const [row] = await db.maintain(`select * from ${db.schema}.lf_prune_reads($1, $2, $3)`, values);
    pruned += Number(row?.['gone']);
    after = row?.['last'];
    if (after !== null) continue;
    await dropChains(db);
    return pruned;
  }
}

/**
 * Removes hash chains without entries if their writer has closed them, or has been idle for so long
 * that it has probably ended.
 */
async function dropChains(db: PostgresConnection): Promise<void> {
  await db.maintain(`select ${db.schema}.lf_drop_chains($1)`, [Date.now() - 2 * CHAIN_IDLE_MS]);
}

function chainState(row: Row): ChainState {
  return {
    chain: String(row['chain']),
    machine: String(row['machine']),
    head: { seq: Number(row['n']), hash: String(row['hash']) },
    checkpoint: { seq: Number(row['checkpoint_n']), hash: String(row['checkpoint_hash']) },
    known: String(row['known']),
  };
}
