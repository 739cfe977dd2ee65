import { chownSync } from 'node:fs';

const NOBODY = 65534;

/** The user of processes that must not run as root, for `spawn`; empty if the tests do not run as root. */
export const ORDINARY: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Makes the ordinary user the owner of files. Does nothing if the tests do not run as root. */
export function giveAway(...paths: readonly string[]): void {
  const { uid, gid } = ORDINARY;
  if (uid !== undefined && gid !== undefined) for (const path of paths) chownSync(path, uid, gid);
}

/**
 * Runs a function without root's rights, because root passes every permission check. If the tests do not run as root,
 * just runs it.
 */
export function asNobody<T>(work: () => T): T {
  if (process.getuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  const back = (): void => process.seteuid?.(0);
  let result: T;
  try {
    result = work();
  } catch (error) {
    back();
    throw error;
  }
  if (result instanceof Promise) void result.then(back, back);
  else back();
  return result;
}
