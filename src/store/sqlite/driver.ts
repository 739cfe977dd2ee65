import { closeSync, openSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Entry } from '../../model/entry.ts';
import { errnoOf, errorText, Fault } from '../../model/fault.ts';
import { CHAIN_START } from '../chain.ts';

export type SqlValue = string | number | null | Uint8Array;

/**
 * The part of `node:sqlite` that we use. Rows have no prototype. A text that contains NUL is cut at
 * the NUL when it is read.
 */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

interface SqliteStatement {
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
  run(...values: SqlValue[]): { readonly changes: number | bigint };
}

interface SqliteDriver {
  readonly DatabaseSync: new (file: string) => SqliteDatabase;
}

/** Opens a database file without changing it. */
export type SqliteLoader = (file: string) => SqliteDatabase;

/** Loads the SQLite built into Node (22.13 and later), else `@photostructure/sqlite`. */
export async function loadSqlite(): Promise<SqliteLoader> {
  const { DatabaseSync } = builtInDriver() ?? installedDriver();
  return (file) => new DatabaseSync(file);
}

/** Loads Node's SQLite. Suppresses only the warning of Node 22 that it is experimental. */
function builtInDriver(): SqliteDriver | undefined {
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]): void => {
    if (!String(warning).startsWith('SQLite is an experimental feature'))
      Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    // The types of Node 20 lack this module. The interface above matches Node's documentation since 22.13.
    return process.getBuiltinModule('node:sqlite') as SqliteDriver | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function installedDriver(): SqliteDriver {
  try {
    // Use `require`: `import()` would keep Node 20 from caching compiled code. The types are equal.
    return createRequire(import.meta.url)('@photostructure/sqlite') as SqliteDriver;
  } catch (cause) {
    throw new Fault(
      'STORE_FAILED',
      'this Node has no SQLite and @photostructure/sqlite cannot be loaded: install that package, or use Node 22.13 or later',
      { cause },
    );
  }
}

interface Cause {
  /** A machine-readable word, also the `reason` of the Fault. */
  readonly reason: string;
  /** SQLite's result code. If a driver omits the code from an error, `words` is compared with the message. */
  readonly code: number;
  /** An extended result code with the same meaning, although its basic code differs from `code`. */
  readonly extended?: number;
  readonly words: RegExp;
  /** Error codes of the file system with the same meaning. */
  readonly errnos?: readonly string[];
  readonly sentence: string;
}

const DAMAGED = 'it is damaged; restart the Lookfirst server, which moves it aside and creates a new one';

const CAUSES: readonly Cause[] = [
  {
    reason: 'busy',
    code: 5,
    words: /is locked/,
    sentence: 'another process kept it locked for too long; try again',
  },
  {
    reason: 'read-only',
    code: 8,
    words: /readonly/,
    errnos: ['EROFS'],
    sentence: 'it cannot be written; check the permissions of the file and its folder',
  },
  { reason: 'damaged', code: 11, words: /malformed/, sentence: DAMAGED },
  {
    reason: 'full',
    code: 13,
    // SQLITE_IOERR_SHMSIZE: there is no room for the shared memory (-shm) beside the database.
    extended: 4874,
    words: /is full/,
    errnos: ['ENOSPC', 'EDQUOT'],
    sentence: 'the disk of the state folder is full',
  },
  {
    reason: 'unopenable',
    code: 14,
    words: /unable to open/,
    errnos: ['EACCES', 'EPERM'],
    sentence: 'it cannot be opened; check the permissions of the file and its folder',
  },
  { reason: 'damaged', code: 26, words: /not a database/, sentence: DAMAGED },
];

/** A Fault STORE_FAILED that names the database and a remedy. If the error is a Fault already, returns it. */
export function storeFault(error: unknown, file: string): Fault {
  if (error instanceof Fault) return error;
  const said = errorText(error);
  const cause = causeOf(error, said);
  return new Fault('STORE_FAILED', `the state database ${file} failed: ${cause?.sentence ?? said}`, {
    cause: error,
    path: file,
    ...(cause === undefined ? {} : { reason: cause.reason }),
  });
}

function causeOf(error: unknown, said: string): Cause | undefined {
  const errno = errnoOf(error);
  const extended = extendedCode(error);
  const code = resultCode(error);
  return CAUSES.find((cause) => {
    if (errno !== undefined && cause.errnos?.includes(errno)) return true;
    if (extended === undefined) return cause.words.test(said);
    return cause.code === code || cause.extended === extended;
  });
}

/** True if the file is not a database or is damaged; never for a lock, a full disk or missing permissions. */
export function isDamage(error: unknown): boolean {
  const code = resultCode(error);
  if (code !== undefined) return code === 11 || code === 26;
  return error instanceof Error && /malformed|not a database/.test(error.message);
}

/** True if another connection holds the needed lock. */
function isBusy(error: unknown): boolean {
  return resultCode(error) === 5;
}

/** The result code without its extended part, or undefined if the error has none. */
function resultCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

const BUSY_TIMEOUT_MS = 5000;
/** SQLite copies its log into the database when the log has this many pages (16 MB). */
const CHECKPOINT_PAGES = 4000;

/** The value of `pragma auto_vacuum` for incremental mode. */
const INCREMENTAL = 2;

/** Kinds of entries with an index of their own. */
export const OWN_INDEX: readonly string[] = [
  'change',
  'refusal',
  'turn',
  'unjudged',
] satisfies Entry['kind'][];
/** Kinds that are not in the index of rare entries. */
export const FREQUENT_KINDS: readonly string[] = ['read', 'look', 'change'] satisfies Entry['kind'][];
/** The condition of the index of rare entries. SQLite uses that index only for queries with exactly this text. */
export const IS_RARE: string = `kind not in (${FREQUENT_KINDS.map((kind) => `'${kind}'`).join(', ')})`;

/** The version of the schema below. A database of an older version is set aside, one of a newer version is refused. */
const SCHEMA_VERSION = 14;

/**
 * Fields of entries that filters use are columns. The table `touches` finds the entries of a key;
 * `touchedKeys` gives its rows. The column `session` finds the changes of other sessions without reading
 * the session's own entries. Views are only added. `kept` is 0 for a content that was only read:
 * no change needs it.
 */
const SCHEMA = `
  create table entries (
    seq integer primary key, at_ms integer not null, kind text not null, session text not null,
    root text not null, path text, change text, entry text not null, hash text not null
  );
  -- SQLite adds the row number to each index, so an index also gives the order of entries. Only the
  -- first of these indexes contains reads, which are nearly all entries.
  create index entries_of_session on entries (session);
  create index entries_of_change on entries (change) where change is not null;
  ${OWN_INDEX.map((kind) => `create index ${kind}_entries on entries (kind) where kind = '${kind}';`).join('\n')}
  create index rare_entries on entries (session) where ${IS_RARE};
  create table touches (
    key text not null, seq integer not null, session text not null, primary key (key, session, seq)
  ) without rowid;
  create table pending (change text primary key, announced text not null) without rowid;
  create table sessions (id text primary key, record text not null) without rowid;
  create table checkpoint (id integer primary key check (id = 1), seq integer not null, hash text not null);
  insert into checkpoint values (1, ${CHAIN_START.seq}, '${CHAIN_START.hash}');
  create table views (
    n integer primary key, session text not null, key text not null, seen text not null
  );
  create index views_of_file on views (session, key);
  create table blobs (
    sha256 text primary key, since_ms integer not null, kept integer not null, size integer not null,
    body blob not null
  );
  create index read_blobs on blobs (since_ms) where kept = 0;
  pragma user_version = ${SCHEMA_VERSION};`;

/** Opens a database file, creates it (0600) if missing. Throws SQLite's own errors. */
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

/** Opens a new database in memory. It is lost when it is closed. */
export function openInMemory(load: SqliteLoader): SqliteDatabase {
  const db = load(':memory:');
  db.exec(SCHEMA);
  return db;
}

/**
 * Creates the file with mode 0600, which SQLite also uses for its side files. Never opens an
 * existing file: closing it would drop SQLite's locks.
 */
function makeFile(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) {
    closeSync(openSync(file, 'a', 0o600));
    return;
  }
  // Refuse a pipe, which would block, and a device, next to which SQLite would create files.
  if (!stats.isFile())
    throw new Fault(
      'STORE_FAILED',
      `the state database ${file} is not a file: remove it, or choose another store`,
      {
        path: file,
      },
    );
}

function prepare(db: SqliteDatabase, file: string): void {
  db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // Incremental vacuum lets `prune` free disk space. Do not set it again if it is set, because
  // setting it writes. Only an empty database accepts the setting.
  const { auto_vacuum: vacuum } = db.prepare('pragma auto_vacuum').get() as { auto_vacuum: number };
  if (vacuum !== INCREMENTAL) db.exec('pragma auto_vacuum = incremental');
  useWal(db, file);
  db.exec(`pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  makeSchema(db, file);
  mustBeWritable(db);
}

/** Throws if the file is read-only, which SQLite opens silently. The test is a write that is rolled back. */
function mustBeWritable(db: SqliteDatabase): void {
  db.exec('pragma busy_timeout = 0');
  try {
    db.exec('begin immediate');
    try {
      db.exec('update checkpoint set seq = seq');
    } finally {
      rollBack(db);
    }
  } catch (error) {
    // Another process is writing now: this process's first write will show whether the file is writable.
    if (!isBusy(error)) throw error;
  } finally {
    db.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

/** Switches to WAL. SQLite does not wait if two processes switch a new database simultaneously, so we retry. */
function useWal(db: SqliteDatabase, file: string): void {
  const deadline = Date.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      // The pragma returns the mode now in force.
      const { journal_mode: mode } = db.prepare('pragma journal_mode = wal').get() as {
        journal_mode: string;
      };
      if (mode === 'wal') return;
      throw new Fault(
        'STORE_FAILED',
        `the state database ${file} is on a file system on which processes cannot share it: choose a local folder`,
        { path: file },
      );
    } catch (error) {
      if (!isBusy(error) || Date.now() > deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Creates the tables in an empty database. Refuses databases of other versions and of other programs. */
function makeSchema(db: SqliteDatabase, file: string): void {
  if (versionOf(db) === SCHEMA_VERSION) return;
  db.exec('begin immediate');
  try {
    // Check again under the lock: another process may have created the tables meanwhile.
    if (versionOf(db) !== SCHEMA_VERSION) {
      mustBeEmpty(db, file);
      db.exec(SCHEMA);
    }
    db.exec('commit');
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Rolls back. Ignores the error if SQLite has already rolled back by itself. */
export function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('rollback');
  } catch {
    // SQLite has already rolled back.
  }
}

function mustBeEmpty(db: SqliteDatabase, file: string): void {
  const version = versionOf(db);
  if (version > SCHEMA_VERSION)
    throw new Fault(
      'STORE_FAILED',
      `the state database ${file} has schema version ${version}, and this Lookfirst knows versions up to ${SCHEMA_VERSION}: ` +
        'update Lookfirst, or choose another store',
      { path: file, reason: 'newer' },
    );
  if (version > 0) throw new Fault('STORE_FAILED', OLDER, { path: file, reason: 'older' });
  if (db.prepare('select 1 from sqlite_master limit 1').get() !== undefined)
    throw new Fault('STORE_FAILED', `${file} is another program's database: choose another store`, {
      path: file,
    });
}

const OLDER = 'the state database was written by an older Lookfirst';

/** True for the error of opening a database with the schema of an older version. */
export function isOlder(error: unknown): boolean {
  return error instanceof Fault && error.reason === 'older';
}

function versionOf(db: SqliteDatabase): number {
  // The cast is safe: `pragma user_version` always gives one row with one number.
  return (db.prepare('pragma user_version').get() as { user_version: number }).user_version;
}
