import {
  type BigIntStats,
  close,
  closeSync,
  constants,
  fdatasync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { Fault, unlessErrno, unlessMissing } from '../../model/fault.ts';
import type { Durability } from '../../model/policy.ts';
import { SharedRun } from '../../model/waiting.ts';
import type { FileBlobs } from '../blobs/file-blobs.ts';
import { makeFolder } from '../prepare-home.ts';
import type { ChainLink } from '../store.ts';
import { noteDamage, openSound } from './damage.ts';
import {
  isDamage,
  loadSqlite,
  openInMemory,
  rollBack,
  type SqliteDatabase,
  type SqliteLoader,
  storeFault,
} from './driver.ts';
import { Users } from './users.ts';

export interface OpenOptions {
  /** Stores large contents of files. Without it, the database stores all of them. */
  readonly files?: FileBlobs | undefined;
  /**
   * `fail`: a damaged database is a Fault. `set-aside`: it is renamed and replaced by an empty one.
   * If another process uses it, it is a Fault in both cases.
   */
  readonly damaged: 'fail' | 'set-aside';
  /**
   * `full`: a `record` that announces a change resolves only when the announcement is on the disk.
   * With the other values, a power cut may lose the announcement.
   */
  readonly durability?: Durability;
}

const SEQ_DIGITS = 16;
/**
 * The line in the `.head` file: the newest entry's number and hash. Its length is fixed, so that
 * one write at offset 0 replaces it.
 */
const LINE = /^(\d{16}) ([0-9a-f]{64})\n$/;

const sync = promisify(fdatasync);

/** Opens a database file for one store, creating it if missing. */
export async function openConnection(file: string, { damaged }: OpenOptions): Promise<Connection> {
  let users: Users | undefined;
  try {
    const load = await loadSqlite();
    makeFolder(dirname(file));
    users = await Users.join(file);
    const { db, warning } = await openSound(file, load, { users, damaged });
    const files = new DatabaseFiles(file, { users, isSound: () => isSound(file, load) });
    return new Connection(db, { file, url: `sqlite:${file}`, files, warning });
  } catch (error) {
    users?.leave();
    throw storeFault(error, file);
  }
}

/**
 * Opens a new database in memory, which only this connection can reach. `missing`: the database file
 * that it represents. The journal was deleted if the file beside that one still names an entry.
 */
export async function openMemory(missing?: string): Promise<Connection> {
  const db = openInMemory(await loadSqlite());
  const witness = missing === undefined ? undefined : new HeadFile(missing).read();
  return new Connection(db, {
    file: 'in memory',
    url: 'memory:',
    files: undefined,
    warning: undefined,
    witness,
  });
}

interface Opened {
  /** The name of the database for messages. */
  readonly file: string;
  readonly url: string;
  /** Undefined for a database in memory. */
  readonly files: DatabaseFiles | undefined;
  /** Set if this database has replaced another one: what users must learn of that. */
  readonly warning: string | undefined;
  /** The newest entry, if there is no file that names it. */
  readonly witness?: ChainLink | undefined;
}

/** An open database: prepared statements, transactions, and faults that name the file. */
export class Connection {
  readonly file: string;
  readonly url: string;
  readonly warning: string | undefined;
  readonly #db: SqliteDatabase;
  readonly #files: DatabaseFiles | undefined;
  readonly #witness: ChainLink | undefined;
  readonly #statements = new Map<string, ReturnType<SqliteDatabase['prepare']>>();
  #closed = false;

  constructor(db: SqliteDatabase, { file, url, files, warning, witness }: Opened) {
    this.file = file;
    this.url = url;
    this.warning = warning;
    this.#db = db;
    this.#files = files;
    this.#witness = witness;
  }

  /** Returns a prepared statement. Each text is prepared once. */
  sql(text: string): ReturnType<SqliteDatabase['prepare']> {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(text);
    this.#statements.set(text, prepared);
    return prepared;
  }

  /** Runs `work` and converts its errors to Faults STORE_FAILED. */
  attempt<T>(work: () => T): T {
    if (this.#closed) throw new Fault('MISUSE', 'the store was closed');
    try {
      return work();
    } catch (error) {
      if (this.#files !== undefined && isDamage(error)) noteDamage(this.file);
      throw storeFault(error, this.file);
    }
  }

  /**
   * Runs `work` in a transaction. Takes the write lock first, so that data read by `work` stays valid until the commit.
   */
  transaction<T>(work: () => T): T {
    return this.attempt(() => {
      this.sql('begin immediate').run();
      try {
        const result = work();
        this.sql('commit').run();
        return result;
      } catch (error) {
        rollBack(this.#db);
        throw error;
      }
    });
  }

  /**
   * Throws a Fault if the files were deleted, replaced or truncated. Later records would then be
   * lost.
   */
  mustBeInPlace(): void {
    this.#files?.guard.check();
  }

  /**
   * Remembers the present size of the write-ahead log, for later checks. `first` does not replace a
   * size that is already remembered.
   */
  noteInPlace(when: 'always' | 'first'): void {
    this.#files?.guard.note(when);
  }

  /** The newest entry according to the file beside the database. */
  witness(): ChainLink | undefined {
    return this.#files === undefined ? this.#witness : this.#files.head.read();
  }

  /** Names the newest entry in the file beside the database. */
  noteHead(head: ChainLink): void {
    this.#files?.head.write(head);
  }

  /** Resolves when everything committed before the call is on the disk. */
  async sync(): Promise<void> {
    await this.#files?.log.sync();
  }

  /** A number that changes when another connection has written to the database. */
  dataVersion(): number {
    return (this.sql('pragma data_version').get() as { data_version: number }).data_version;
  }

  /**
   * Size in bytes of the database, 0 in memory. The write-ahead log does not count: it is reused,
   * and after a clean-up it would hide that the database has become smaller.
   */
  bytes(): number {
    if (this.#files === undefined) return 0;
    const { page_count: pages } = this.sql('pragma page_count').get() as { page_count: number };
    const { page_size: size } = this.sql('pragma page_size').get() as { page_size: number };
    return pages * size;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
    this.#files?.close();
  }
}

/** A database on the disk: its own files, the files beside it, and its users. */
class DatabaseFiles {
  readonly head: HeadFile;
  readonly log: LogSync;
  readonly guard: FileGuard;
  readonly #users: Users;

  constructor(file: string, { users, isSound }: { readonly users: Users; isSound(): boolean }) {
    this.head = new HeadFile(file);
    this.log = new LogSync(file);
    this.guard = new FileGuard(file, isSound);
    this.#users = users;
  }

  close(): void {
    this.head.close();
    this.log.close();
    this.#users.leave();
  }
}

/**
 * True if SQLite finds no damage in the whole database. Uses a new connection, because the cache of
 * an open one could hide damage.
 */
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

/**
 * Detects that another program deleted, replaced or truncated the files of an open database. SQLite
 * mostly does not notice, and later records are lost. Checks only names and sizes and does not open
 * the files: closing one here would drop SQLite's locks on it.
 */
class FileGuard {
  readonly #file: string;
  readonly #isSound: () => boolean;
  readonly #identity: string;
  #bytes: bigint;
  #log: { readonly identity: string; readonly bytes: bigint } | undefined;
  #broken: Fault | undefined;

  /**
   * `isSound` checks the whole database. It is called if the file has shrunk, to tell a clean-up
   * from damage.
   */
  constructor(file: string, isSound: () => boolean) {
    this.#file = file;
    this.#isSound = isSound;
    const stats = statsOf(file);
    this.#identity = identityOf(stats);
    this.#bytes = stats?.size ?? 0n;
  }

  /**
   * Throws a Fault if a file has been deleted, replaced or truncated. Every later call then throws
   * the same Fault.
   */
  check(): void {
    this.#broken ??= this.#problem();
    if (this.#broken !== undefined) throw this.#broken;
  }

  /**
   * Remembers the present size of the write-ahead log, for later checks. `first` does not replace a
   * size that is already remembered.
   */
  note(when: 'always' | 'first'): void {
    if (when === 'first' && this.#log !== undefined) return;
    const stats = statsOf(`${this.#file}-wal`);
    if (stats !== undefined) this.#log = { identity: identityOf(stats), bytes: stats.size };
  }

  #problem(): Fault | undefined {
    const stats = statsOf(this.#file);
    if (identityOf(stats) !== this.#identity) return this.#fault('was removed or replaced while in use');
    const bytes = stats?.size ?? 0n;
    // Treat an empty file as truncated: it would pass as an empty database, and opening it again would delete the
    // write-ahead log.
    const isTruncated = bytes < this.#bytes && (bytes === 0n || !this.#isSound());
    if (isTruncated) return this.#fault('was truncated while in use');
    this.#bytes = bytes;
    return this.#logProblem();
  }

  /**
   * The fault if the write-ahead log was deleted, replaced or truncated. SQLite itself never does
   * that while a process has the database open.
   */
  #logProblem(): Fault | undefined {
    if (this.#log === undefined) return undefined;
    const stats = statsOf(`${this.#file}-wal`);
    const isWhole = identityOf(stats) === this.#log.identity && (stats?.size ?? 0n) >= this.#log.bytes;
    return isWhole ? undefined : this.#fault('lost its write-ahead log (-wal) while in use');
  }

  #fault(what: string): Fault {
    const message = `the state database ${this.#file} ${what}: restart Lookfirst`;
    return new Fault('STORE_FAILED', message, { path: this.#file, reason: 'lost' });
  }
}

function statsOf(file: string): BigIntStats | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false });
}

function identityOf(stats: BigIntStats | undefined): string {
  return stats === undefined ? 'missing' : `${stats.dev}:${stats.ino}`;
}

/**
 * A file beside the database that names the newest journal entry. It is written after each commit
 * without a sync, so it may name an older entry. If it names a newer one, the database has lost
 * entries.
 */
class HeadFile {
  readonly path: string;
  #fd: number | undefined;

  constructor(database: string) {
    this.path = `${database}.head`;
  }

  /**
   * The entry that the file names. Undefined if the file is missing, or if a writer was killed in
   * the middle of the line.
   */
  read(): ChainLink | undefined {
    const text = unlessMissing(() => readFileSync(this.path, 'latin1'));
    const [, seq, hash] = LINE.exec(text ?? '') ?? [];
    return seq === undefined || hash === undefined ? undefined : { seq: Number(seq), hash };
  }

  /**
   * Writes the newest entry to the file. Ignores failures: the entry is committed, and an older
   * line is still valid.
   */
  write({ seq, hash }: ChainLink): void {
    unlessErrno(() => {
      this.#fd ??= openSync(this.path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      writeSync(this.#fd, `${String(seq).padStart(SEQ_DIGITS, '0')} ${hash}\n`, 0, 'latin1');
    });
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

/**
 * Syncs the write-ahead log without blocking other work. Commits during a sync share the next sync.
 * SQLite takes no locks on this file, so opening it here is safe.
 */
class LogSync {
  readonly #file: string;
  readonly #syncs = new SharedRun();
  #fd: number | undefined;

  constructor(database: string) {
    this.#file = `${database}-wal`;
  }

  /** Resolves when everything committed before the call is on the disk. */
  sync(): Promise<void> {
    return this.#syncs.run(async () => {
      this.#fd ??= openSync(this.#file, 'r');
      await sync(this.#fd);
    });
  }

  close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    // Ignore errors of closing: the file was only opened for syncing.
    if (fd !== undefined) close(fd, () => {});
  }
}
