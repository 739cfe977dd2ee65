import { errnoOf } from '../../model/errno.ts';
import { Fault } from '../../model/fault.ts';

export type SqlValue = string | number | null;

/** The part of `node:sqlite` that we use. Rows have no prototype, and text read back ends at a NUL. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export interface SqliteStatement {
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
  run(...values: SqlValue[]): unknown;
}

interface SqliteDriver {
  readonly DatabaseSync: new (file: string) => SqliteDatabase;
}

/** Opens a database file without changing it. */
export type SqliteLoader = (file: string) => SqliteDatabase;

/** Loads the SQLite built into Node (22.13 and later), else `@photostructure/sqlite`. */
export async function loadSqlite(): Promise<SqliteLoader> {
  const { DatabaseSync } = builtInDriver() ?? (await installedDriver());
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
    // The types of Node 20 lack it. The interface above matches Node's documentation since 22.13.
    return process.getBuiltinModule('node:sqlite') as SqliteDriver | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

async function installedDriver(): Promise<SqliteDriver> {
  try {
    return await import('@photostructure/sqlite');
  } catch (cause) {
    throw new Fault(
      'STORE_FAILED',
      'this Node has no SQLite and @photostructure/sqlite cannot be loaded: use Node 22.13 or later, or the store memory:',
      { cause },
    );
  }
}

interface Cause {
  /** Machine-readable; also the `reason` of the Fault. */
  readonly reason: string;
  /** SQLite's result code. Some drivers omit it from some errors, but the message is always there. */
  readonly code: number;
  readonly words: RegExp;
  /** Error codes of the file system with the same meaning. */
  readonly errnos?: readonly string[];
  readonly sentence: string;
}

const DAMAGED = 'it is damaged; the next start of a server sets it aside and begins a new one';

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

/** A Fault STORE_FAILED that names the database and a remedy. A Fault is returned unchanged. */
export function storeFault(error: unknown, file: string): Fault {
  if (error instanceof Fault) return error;
  const said = error instanceof Error ? error.message : String(error);
  const cause = causeOf(error, said);
  return new Fault('STORE_FAILED', `the state database ${file} failed: ${cause?.sentence ?? said}`, {
    cause: error,
    path: file,
    ...(cause === undefined ? {} : { reason: cause.reason }),
  });
}

function causeOf(error: unknown, said: string): Cause | undefined {
  const errno = errnoOf(error);
  const code = resultCode(error);
  return CAUSES.find((cause) => {
    if (errno !== undefined && cause.errnos?.includes(errno)) return true;
    return code === undefined ? cause.words.test(said) : cause.code === code;
  });
}

/** True if the file is not a database or is damaged; never for a lock, a full disk or missing permissions. */
export function isDamage(error: unknown): boolean {
  const code = resultCode(error);
  if (code !== undefined) return code === 11 || code === 26;
  return error instanceof Error && /malformed|not a database/.test(error.message);
}

/** True if another connection holds the needed lock. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === 5;
}

/** The result code without its extended part, or undefined if the error has none. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
