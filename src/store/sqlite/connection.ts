import { statSync } from 'node:fs';
import { Fault } from '../../model/fault.ts';
import { openDatabase } from './database.ts';
import type { SqliteDatabase, SqliteStatement } from './driver.ts';
import { storeFault } from './fault.ts';

/** Opens a database file for one store, made if missing. */
export async function openConnection(file: string): Promise<Connection> {
  return new Connection(await openDatabase(file), file);
}

/** An open database: prepared statements, transactions, and faults that name the file. */
export class Connection {
  readonly file: string;
  readonly #db: SqliteDatabase;
  readonly #identity: string;
  readonly #statements = new Map<string, SqliteStatement>();
  #closed = false;

  constructor(db: SqliteDatabase, file: string) {
    this.#db = db;
    this.file = file;
    this.#identity = identityOf(file);
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

  /** Throws a Fault if the file was deleted or replaced: no process could ever read what is recorded in it. */
  mustBeInPlace(): void {
    if (identityOf(this.file) === this.#identity) return;
    throw new Fault(
      'STORE_FAILED',
      `the state database ${this.file} was removed or replaced while in use: start again`,
      { path: this.file },
    );
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

function identityOf(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? 'missing' : `${stats.dev}:${stats.ino}`;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
