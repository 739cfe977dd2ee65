/** The one place that knows errno names. */

/** The errno name of a system error (`ENOENT`, `EACCES`, …), or undefined for anything else. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code) ? error.code : undefined;
}

/** True only for "no such file or directory": no other errno ever means that a name is free. */
export function isMissing(error: unknown): boolean {
  return errnoOf(error) === 'ENOENT';
}

/** True for "something has this name already". */
export function isTaken(error: unknown): boolean {
  return errnoOf(error) === 'EEXIST';
}
