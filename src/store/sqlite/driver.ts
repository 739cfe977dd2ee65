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
