import type { ListedEntry } from '../../model/results.ts';
import { globMatcher, type PathMatch } from '../../text/glob/glob.ts';

/** Paths below the folder that match. A pattern without `**` matches only at its own depth. */
export function matchingPaths(
  entries: readonly ListedEntry[],
  pattern: string,
  excludePatterns: readonly string[],
): string[] {
  const wanted = globMatcher(pattern);
  const excluded = anyOf(excludePatterns.map(globMatcher));
  return pruned(entries, excluded)
    .map(({ path }) => path)
    .filter((path) => wanted(path));
}

interface TreeEntry {
  readonly name: string;
  readonly type: 'file' | 'directory';
  readonly children?: TreeEntry[];
}

/** The folder as the official server's JSON tree. A pattern without `*` excludes that name at every depth. */
export function jsonTree(entries: readonly ListedEntry[], excludePatterns: readonly string[]): string {
  const excluded = anyOf(
    excludePatterns.map((glob) =>
      glob.includes('*') ? globMatcher(glob) : anyOf([glob, `**/${glob}`, `**/${glob}/**`].map(globMatcher)),
    ),
  );
  const top: TreeEntry[] = [];
  const folders = new Map<string, TreeEntry[]>([['', top]]);
  for (const { path, kind } of pruned(entries, excluded)) {
    const slash = path.lastIndexOf('/');
    const name = path.slice(slash + 1);
    const siblings = folders.get(path.slice(0, Math.max(slash, 0)));
    if (kind !== 'directory') siblings?.push({ name, type: 'file' });
    else {
      const children: TreeEntry[] = [];
      folders.set(path, children);
      siblings?.push({ name, type: 'directory', children });
    }
  }
  return JSON.stringify(top, null, 2);
}

/** Removes excluded entries and everything below excluded folders. Parents must come first. */
function pruned(entries: readonly ListedEntry[], excluded: PathMatch): ListedEntry[] {
  const gone = new Set<string>();
  return entries.filter(({ path, kind }) => {
    const parent = path.slice(0, Math.max(path.lastIndexOf('/'), 0));
    if (!gone.has(parent) && !excluded(path)) return true;
    if (kind === 'directory') gone.add(path);
    return false;
  });
}

function anyOf(matches: readonly PathMatch[]): PathMatch {
  return (path) => matches.some((match) => match(path));
}
