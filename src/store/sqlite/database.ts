import { closeSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../../model/fault.ts';
import { makeFolder } from '../make-folder.ts';
import { loadSqlite, type SqliteDatabase } from './driver.ts';
import { isBusy, storeFault } from './fault.ts';
import { migrate } from './schema.ts';

const BUSY_TIMEOUT_MS = 5000;
/** 16 MB: a record dirties few and often the same pages, so fewer checkpoints copy much less. */
const CHECKPOINT_PAGES = 4000;

/** What `pragma auto_vacuum` answers where it is on as we want it. */
const INCREMENTAL = 2;

/** Opens the database, makes it (0600, in folders 0700) if it is not there, and brings it up to date. */
export async function openDatabase(file: string): Promise<SqliteDatabase> {
  const open = await loadSqlite();
  try {
    makeFile(file);
    const db = open(file);
    try {
      prepare(db, file);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  } catch (error) {
    throw storeFault(error, file);
  }
}

/** SQLite gives its side files the mode of the database, and would open one it may not write for reading, silently. */
function makeFile(file: string): void {
  makeFolder(dirname(file));
  // A pipe would keep us waiting, and a device would get side files next to it.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
    throw new Fault('STORE_FAILED', `the state database ${file} is no file: choose another store`, {
      path: file,
    });
  closeSync(openSync(file, 'a', 0o600));
}

function prepare(db: SqliteDatabase, file: string): void {
  db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // Only a database without tables takes this; it lets `prune` give room back. Saying it again would be a write.
  const { auto_vacuum: vacuum } = db.prepare('pragma auto_vacuum').get() as { auto_vacuum: number };
  if (vacuum !== INCREMENTAL) db.exec('pragma auto_vacuum = incremental');
  useWal(db, file);
  db.exec(`pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  migrate(db, file);
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
