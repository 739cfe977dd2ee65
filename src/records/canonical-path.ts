import { parse, resolve } from 'node:path';
import { Workspace } from '../workspace/workspace.ts';

/** The target of a path after following its links. A path that does not exist keeps its missing names. */
interface CanonicalPath {
  readonly absolute: string;
  /** The name of the file in journal and ledger. */
  readonly key: string;
  readonly kind: 'folder' | 'file' | 'missing';
}

/**
 * Resolves a path by the same walk as every workspace, so that a path that a user types equals the
 * recorded one. A path that cannot be walked (a loop of links, a closed folder) is returned
 * unchanged.
 */
export function canonicalPath(cwd: string, path: string): CanonicalPath {
  const full = resolve(cwd, path);
  const everything = Workspace.open([parse(full).root]);
  try {
    const outcome = everything.locate(full, 'status');
    if (!outcome.ok) return { absolute: full, key: full, kind: 'missing' };
    const { located } = outcome;
    located.place.dir.close();
    const { absolute, key } = located.place.path;
    if (!located.exists) return { absolute, key, kind: 'missing' };
    return { absolute, key, kind: located.stats.isDirectory() ? 'folder' : 'file' };
  } finally {
    everything.close();
  }
}
