/** All comparisons with errno names are in this file. */

/** The errno name of a system error (`ENOENT`, `EACCES`, …), or undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

/** True only for "no such file or directory". No other errno proves that a name is free. */
export function isMissing(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT';
}

/** True for "a file or directory with this name already exists". */
export function isTaken(error: unknown): boolean {
  return errnoOf(error) === 'EEXIST';
}
