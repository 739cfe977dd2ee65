import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathsIn } from './tree-replay.ts';

/** The text of every file below a folder, by its path. */
export function textsIn(root: string): Record<string, string> {
  const files = pathsIn(root).filter((path) => lstatSync(join(root, path)).isFile());
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}
