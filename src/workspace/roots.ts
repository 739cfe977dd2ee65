import { realpathSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { errnoOf, isMissing } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';
import type { Guarantee } from './guarantee.ts';
import { readPath, readWindowsPath } from './lexical.ts';
import { HeldDirectory, NamedDirectory, whereIs } from './pinned.ts';
import type { Root } from './walk.ts';

/** The roots of a workspace, pinned. */
export interface OpenedRoots {
  readonly roots: readonly Root[];
  /** Canonical paths of the read-only folders, which are roots or are inside one. */
  readonly readOnly: readonly string[];
}

/** Opens the roots. A read-only folder outside all of them becomes another root. */
export function openRoots(
  paths: readonly string[],
  readOnlyPaths: readonly string[],
  guarantee: Guarantee,
): OpenedRoots {
  const roots: Root[] = [];
  const readOnly: string[] = [];
  try {
    for (const path of paths) roots.push(openRoot(path, guarantee));
    for (const path of readOnlyPaths) {
      const root = openRoot(path, guarantee);
      readOnly.push(root.canonical);
      const isInside = roots.some(({ canonical }) => `${root.canonical}/`.startsWith(`${canonical}/`));
      if (isInside) root.dir.close();
      else roots.push(root);
    }
  } catch (error) {
    for (const root of roots) root.dir.close();
    throw error;
  }
  return { roots, readOnly };
}

function openRoot(given: string, guarantee: Guarantee): Root {
  if (typeof given !== 'string' || !isAbsolute(given)) {
    throw new Fault('CONFIG_INVALID', `a workspace root must be an absolute path: ${given}`, {
      path: given,
      reason: 'relative',
    });
  }
  let canonical: string;
  try {
    canonical = slashes(realpathSync.native(given));
    if (!statSync(canonical).isDirectory()) {
      throw new Fault('CONFIG_INVALID', `the workspace root is not a folder: ${given}`, {
        path: given,
        reason: 'not-a-directory',
      });
    }
    const root = { canonical, given: trimmed(given) };
    if (guarantee !== 'walk') return { ...root, dir: new NamedDirectory(canonical) };
    const dir = HeldDirectory.open(canonical);
    // If the kernel already reports another path, later reports would be unusable too.
    return whereIs(dir) === canonical ? { ...root, dir, where: () => whereIs(dir) } : { ...root, dir };
  } catch (error) {
    if (error instanceof Fault) throw error;
    const message = isMissing(error)
      ? `the workspace root does not exist: ${given}`
      : `the workspace root cannot be opened (${errnoOf(error) ?? String(error)}): ${given}`;
    throw new Fault('CONFIG_INVALID', message, {
      cause: error,
      path: given,
      reason: isMissing(error) ? 'missing' : 'unreadable',
    });
  }
}

function trimmed(path: string): string {
  const clean = process.platform === 'win32' ? readWindowsPath(path) : readPath(path);
  return clean.kind === 'absolute' ? clean.path : slashes(path);
}

function slashes(path: string): string {
  return process.platform === 'win32' ? path.replaceAll('\\', '/') : path;
}
