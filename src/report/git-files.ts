const IN_GIT = /(^|\/)\.git\//;

/** Matches what people write below a `.git` folder to change what git does: configuration, hooks and notes. */
const PEOPLES = /(^|\/)\.git\/(.*\/)?(config(\.worktree)?|hooks|info)(\/|$)/;

/** Matches what only git writes in a repository, although its names may be like those of `PEOPLES`. */
const KEPT = /(^|\/)\.git\/((modules\/.+|worktrees\/[^/]+)\/)?((objects|refs|logs)\/|info\/refs$)/;

/**
 * True for a file that git keeps for itself: objects, references, logs, indexes. Lists for people
 * count such files under one name.
 */
export function isGitsOwn(path: string): boolean {
  return IN_GIT.test(path) && (KEPT.test(path) || !PEOPLES.test(path));
}

/** The name under which lists mention the files of git that they leave out. */
export const GITS_OWN_FILES = "git's own files";

/** Splits a list into what people want to read and git's own files. */
export function apartFromGit<T>(
  items: readonly T[],
  pathOf: (item: T) => string,
): { readonly shown: readonly T[]; readonly gits: readonly T[] } {
  const isOwn = (item: T): boolean => isGitsOwn(pathOf(item));
  return { shown: items.filter((item) => !isOwn(item)), gits: items.filter(isOwn) };
}
