import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../../model/fault.ts';
import type { Durability } from '../../model/policy.ts';
import { makeFolder } from '../make-folder.ts';
import { openDatabase } from './database.ts';
import { loadSqlite, type SqliteDatabase, type SqliteLoader, type SqliteStatement } from './driver.ts';
import { isDamage, storeFault } from './fault.ts';
import { FileGuard } from './file-guard.ts';
import { HeadFile } from './head-file.ts';
import { LogSync } from './log-sync.ts';
import { setAside } from './set-aside.ts';
import { Users } from './users.ts';

export interface OpenOptions {
  /** `set-aside`: a damaged database that no other process uses gets another name, and an empty one takes its place. */
  readonly damaged: 'fail' | 'set-aside';
  /** `full`: an announced change is on the disk before `record` resolves. Default: a power cut may take it back. */
  readonly durability?: Durability;
}

/** Opens a database file for one store, made if missing. */
export async function openConnection(file: string, { damaged }: OpenOptions): Promise<Connection> {
  let users: Users | undefined;
  try {
    const load = await loadSqlite();
    makeFolder(dirname(file));
    users = await Users.join(file);
    return new Connection(load, { file, users, ...(await openSound(file, load, { users, damaged })) });
  } catch (error) {
    users?.leave();
    throw storeFault(error, file);
  }
}

interface Opened {
  readonly db: SqliteDatabase;
  /** The name of the damaged database whose place this one took. */
  readonly aside?: string;
}

async function openSound(
  file: string,
  load: SqliteLoader,
  { users, damaged }: OpenOptions & { readonly users: Users },
): Promise<Opened> {
  try {
    return { db: openDatabase(load, file) };
  } catch (error) {
    if (damaged === 'fail' || !isDamage(error)) throw error;
    const replaced = await users.alone(() => replaceDamaged(file, load));
    if (replaced === undefined) throw error;
    return replaced;
  }
}

/** Checks again first: another process may have replaced it a moment ago. */
function replaceDamaged(file: string, load: SqliteLoader): Opened {
  try {
    return { db: openDatabase(load, file) };
  } catch (error) {
    if (!isDamage(error)) throw error;
    const aside = setAside(file, Date.now());
    return { db: openDatabase(load, file), aside };
  }
}

/** An open database: prepared statements, transactions, and faults that name the file. */
export class Connection {
  readonly file: string;
  readonly head: HeadFile;
  readonly log: LogSync;
  readonly aside: string | undefined;
  readonly #db: SqliteDatabase;
  readonly #users: Users;
  readonly #guard: FileGuard;
  readonly #statements = new Map<string, SqliteStatement>();
  #closed = false;

  constructor(load: SqliteLoader, { file, users, db, aside }: Opened & { file: string; users: Users }) {
    this.file = file;
    this.head = new HeadFile(file);
    this.log = new LogSync(file);
    this.aside = aside;
    this.#db = db;
    this.#users = users;
    this.#guard = new FileGuard(file, () => isSound(file, load));
  }

  /** A prepared statement; each text is prepared once. */
  sql(text: string): SqliteStatement {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(text);
    this.#statements.set(text, prepared);
    return prepared;
  }

  /** Runs work whose errors become Faults STORE_FAILED. */
  attempt<T>(work: () => T): T {
    if (this.#closed) throw new Fault('MISUSE', 'the store was closed');
    try {
      return work();
    } catch (error) {
      throw storeFault(error, this.file);
    }
  }

  /** Takes the write lock first, so that what `work` reads stays true until the commit. */
  transaction<T>(work: () => T): T {
    return this.attempt(() => {
      this.sql('begin immediate').run();
      try {
        const result = work();
        this.sql('commit').run();
        return result;
      } catch (error) {
        this.#rollback();
        throw error;
      }
    });
  }

  /** Throws a Fault if the files were deleted, replaced or cut: no process could ever read what is recorded then. */
  mustBeInPlace(): void {
    this.#guard.check();
  }

  /** Takes the files as they are after a commit for what they must be from now on. */
  noteInPlace(): void {
    this.#guard.note();
  }

  /** A number that changes when another connection has written. */
  dataVersion(): number {
    return (this.sql('pragma data_version').get() as { data_version: number }).data_version;
  }

  /** Room on disk. */
  bytes(): number {
    return sizeOf(this.file) + sizeOf(`${this.file}-wal`);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
    this.head.close();
    this.log.close();
    this.#users.leave();
  }

  /** After some errors SQLite has rolled back already, and refuses to do it again. The first error is the one to report. */
  #rollback(): void {
    try {
      this.sql('rollback').run();
    } catch {
      // Already rolled back.
    }
  }
}

/** Reads everything through a connection of its own, which has nothing in its cache. */
function isSound(file: string, load: SqliteLoader): boolean {
  try {
    const db = load(file);
    try {
      return (db.prepare('pragma quick_check(1)').get() as { quick_check: string }).quick_check === 'ok';
    } finally {
      db.close();
    }
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
