import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A file of a package that only tests need and that is no dependency of ours: it wants another Node, or is somebody's
 * whole server. Packages like that have a folder under test/ with their own pinned versions, installed when first used.
 */
export function toolIn(folder: 'adapters' | 'conformance' | 'servers', file: string): string {
  const cwd = join(import.meta.dirname, '..', folder);
  const path = join(cwd, 'node_modules', file);
  if (existsSync(path)) return path;
  const args = ['install', '--no-save', '--ignore-scripts', '--force', '--prefer-offline'];
  execFileSync('npm', args, { cwd, stdio: 'ignore' });
  return path;
}
