import { Fault } from '../../model/fault.ts';
import { CHAIN_START } from '../chain.ts';
import type { SqliteDatabase } from './driver.ts';

/**
 * Migration n brings a database from version n to n + 1. Append-only: a released one is never edited.
 * Entries keep in columns what is filtered by, and only there, so that the chain covers the columns too.
 * `touches` finds the entries of a key; see touchedKeys() for which rows it has.
 */
const MIGRATIONS: readonly string[] = [
  `create table sightings (
     session text not null, key text not null, seen text not null,
     primary key (session, key)
   ) without rowid;
   create table entries (
     seq integer primary key, at_ms integer not null, kind text not null, session text not null,
     root text not null, path text, change text, rest text not null, hash text not null
   );
   create table touches (key text not null, seq integer not null, primary key (key, seq)) without rowid;
   create table pending (change text primary key, announced text not null) without rowid;
   create table sessions (id text primary key, record text not null) without rowid;
   create table chain (
     id integer primary key check (id = 1), head_seq integer not null, head_hash text not null,
     checkpoint_seq integer not null, checkpoint_hash text not null
   );
   insert into chain values (1, 0, '${CHAIN_START.hash}', 0, '${CHAIN_START.hash}');`,
  // Each index ends with the row's number, so it also gives the order. Reads, nearly all entries, are in the first one only.
  `create index entries_of_session on entries (session);
   create index entries_of_change on entries (change) where change is not null;
   create index change_entries on entries (kind) where kind = 'change';
   create index sessions_of_root on sessions (json_extract(record, '$.root'));`,
];

/** Brings the database to the newest version, in one transaction. Refuses newer databases and other programs'. */
export function migrate(db: SqliteDatabase, file: string, migrations: readonly string[] = MIGRATIONS): void {
  if (versionOf(db) === migrations.length) return;
  db.exec('begin immediate');
  try {
    // Asked again under the lock: another process may have migrated meanwhile.
    const version = versionOf(db);
    mustBeOurs(db, file, { version, newest: migrations.length });
    for (const sql of migrations.slice(version)) db.exec(sql);
    db.exec(`pragma user_version = ${migrations.length}`);
    db.exec('commit');
  } catch (error) {
    db.exec('rollback');
    throw error;
  }
}

function mustBeOurs(db: SqliteDatabase, file: string, is: { version: number; newest: number }): void {
  if (is.version > is.newest)
    throw new Fault(
      'STORE_FAILED',
      `the state database ${file} has schema version ${is.version}, and this Lookfirst knows versions up to ${is.newest}: ` +
        'update Lookfirst, or choose another store',
      { path: file },
    );
  if (is.version === 0 && db.prepare('select 1 from sqlite_master limit 1').get() !== undefined)
    throw new Fault('STORE_FAILED', `${file} is another program's database: choose another store`, {
      path: file,
    });
}

function versionOf(db: SqliteDatabase): number {
  // `pragma user_version` always gives one row with this one number.
  return (db.prepare('pragma user_version').get() as { user_version: number }).user_version;
}
