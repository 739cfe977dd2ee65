import { Fault } from '../model/fault.ts';

/** The result code of a SQLite error, without its extended part; undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

export const SQLITE_BUSY = 5;

/** What to tell about SQLite's result codes; the rest speak with SQLite's own words. */
const CAUSES: ReadonlyMap<number, string> = new Map([
  [SQLITE_BUSY, 'another process kept it locked for too long; try again'],
  [8, 'it cannot be written; check the permissions of the file and its folder'],
  [11, 'it is damaged; move it away to begin a new one (what is in it can then no longer be undone)'],
  [13, 'the disk is full'],
  [14, 'it cannot be opened; check the permissions of the file and its folder'],
  [26, 'it is not a database, or damaged; move it away to begin a new one'],
]);

/** A Fault STORE_FAILED that names the database and what to do; a Fault passes through as it is. */
export function storeFault(error: unknown, file: string): Fault {
  if (error instanceof Fault) return error;
  const known = CAUSES.get(sqliteCode(error) ?? -1);
  const reason = known ?? (error instanceof Error ? error.message : String(error));
  return new Fault('STORE_FAILED', `the state database ${file} failed: ${reason}`, {
    cause: error,
    path: file,
  });
}
