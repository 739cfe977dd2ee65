import { closeSync, openSync, statSync } from 'node:fs';
import { Fault } from '../../model/fault.ts';
import type { SqliteDatabase, SqliteLoader } from './driver.ts';
import { isBusy } from './fault.ts';
import { migrate } from './schema.ts';

const BUSY_TIMEOUT_MS = 5000;
/** 16 MB: a record dirties few and often the same pages, so fewer checkpoints copy much less. */
const CHECKPOINT_PAGES = 4000;

/** What `pragma auto_vacuum` answers where it is on as we want it. */
const INCREMENTAL = 2;

/** Opens a database file, makes it (0600) if it is missing, and brings it up to date. Its errors are SQLite's own. */
export function openDatabase(load: SqliteLoader, file: string): SqliteDatabase {
  makeFile(file);
  const db = load(file);
  try {
    prepare(db, file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * SQLite gives its side files the mode of the database. A file that exists is not opened here: closing it would drop the
 * locks that SQLite holds on it for this process.
 */
function makeFile(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) {
    closeSync(openSync(file, 'a', 0o600));
    return;
  }
  // A pipe would keep us waiting, and a device would get side files next to it.
  if (!stats.isFile())
    throw new Fault('STORE_FAILED', `the state database ${file} is no file: choose another store`, {
      path: file,
    });
}

function prepare(db: SqliteDatabase, file: string): void {
  db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // Only a database without tables takes this; it lets `prune` give room back. Saying it again would be a write.
  const { auto_vacuum: vacuum } = db.prepare('pragma auto_vacuum').get() as { auto_vacuum: number };
  if (vacuum !== INCREMENTAL) db.exec('pragma auto_vacuum = incremental');
  useWal(db, file);
  db.exec(`pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  migrate(db, file);
  mustBeWritable(db);
}

/** SQLite opens a file that it may not write for reading, silently. A change that is taken back writes nothing and tells. */
function mustBeWritable(db: SqliteDatabase): void {
  db.exec('pragma busy_timeout = 0');
  try {
    db.exec('begin immediate');
    try {
      db.exec('update chain set head_seq = head_seq');
    } finally {
      db.exec('rollback');
    }
  } catch (error) {
    // Another process writes at this moment: the first write of this one will tell.
    if (!isBusy(error)) throw error;
  } finally {
    db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

/** SQLite does not wait when two processes switch a new database to WAL at once, so we do. */
function useWal(db: SqliteDatabase, file: string): void {
  const deadline = Date.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      // Answers with the mode that is now in force.
      const { journal_mode: mode } = db.prepare('pragma journal_mode = wal').get() as {
        journal_mode: string;
      };
      if (mode === 'wal') return;
      throw new Fault(
        'STORE_FAILED',
        `the state database ${file} is on a file system that processes cannot share it on: choose a local folder`,
        { path: file },
      );
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
