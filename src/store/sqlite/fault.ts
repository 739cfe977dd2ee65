import { Fault } from '../../model/fault.ts';

/** SQLite's result code, its own words for it, and ours. */
const CAUSES: readonly (readonly [code: number, words: RegExp, sentence: string])[] = [
  [5, /is locked/, 'another process kept it locked for too long; try again'],
  [8, /readonly/, 'it cannot be written; check the permissions of the file and its folder'],
  [
    11,
    /malformed/,
    'it is damaged; move it away to begin a new one (what is in it can then no longer be undone)',
  ],
  [13, /is full/, 'the disk is full'],
  [14, /unable to open/, 'it cannot be opened; check the permissions of the file and its folder'],
  [26, /not a database/, 'it is not a database, or damaged; move it away to begin a new one'],
];

/** A Fault STORE_FAILED that names the database and what to do; a Fault passes through as it is. */
export function storeFault(error: unknown, file: string): Fault {
  if (error instanceof Fault) return error;
  const told = error instanceof Error ? error.message : String(error);
  const code = resultCode(error);
  // Some drivers leave the code out of some errors; the words are always there.
  const known = CAUSES.find(([known, words]) => (code === undefined ? words.test(told) : code === known));
  return new Fault('STORE_FAILED', `the state database ${file} failed: ${known?.[2] ?? told}`, {
    cause: error,
    path: file,
  });
}

/** True when another connection holds the lock we need. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === 5;
}

/** Without its extended part; undefined for an error without one. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
