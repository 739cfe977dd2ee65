import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Everything below a folder: kind, permissions, and content or target by relative path. Times and inodes do not count. */
export function treeOf(folder: string): Readonly<Record<string, string>> {
  const tree: Record<string, string> = {};
  const walk = (relative: string): void => {
    for (const name of readdirSync(join(folder, relative)).sort()) {
      const path = relative === '' ? name : `${relative}/${name}`;
      const stats = lstatSync(join(folder, path));
      const mode = (stats.mode & 0o777).toString(8);
      if (stats.isSymbolicLink()) tree[path] = `-> ${readlinkSync(join(folder, path))}`;
      else if (stats.isDirectory()) {
        tree[path] = `folder ${mode}`;
        walk(path);
      } else if (stats.isFile()) tree[path] = `${mode} ${readFileSync(join(folder, path), 'base64')}`;
      else tree[path] = 'special';
    }
  };
  walk('');
  return tree;
}
