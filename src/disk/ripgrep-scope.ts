import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ResolvedPath } from '../model/path.ts';

const IGNORE_FILES = ['.gitignore', '.ignore', '.rgignore', '.git/info/exclude'] as const;

/**
 * Arguments that say which files below a folder a run looks at: hidden ones too, Git's own never, ignored ones not.
 * Links are not followed. Only the configuration that lies in the folders themselves counts.
 */
export function scopeOf(folder: ResolvedPath): readonly string[] {
  return [
    '--no-config',
    '--no-messages',
    '--no-ignore-messages',
    '--no-ignore-global',
    '--hidden',
    '--glob=!.git',
    '--path-separator=/',
    ...ignoreRules(folder),
  ];
}

/**
 * Arguments that keep ripgrep from opening protected files. Not all globs can be said in its language, and names can
 * change while it runs: what it returns is checked again.
 */
export function protectedScope(folder: ResolvedPath, globs: readonly string[]): readonly string[] {
  const plain = globs.filter((glob) => /^[^\\()[\]{}!/][^\\()[\]{}!]*$/.test(glob));
  // Globs are about paths from the root on; below it only those that begin anywhere mean the same.
  const valid = folder.relative === '' ? plain : plain.filter((glob) => glob.startsWith('**/'));
  return valid.map((glob) => `--iglob=!/${glob}`);
}

/**
 * In a Git repository the repository's ignore files count, as for Git, also where it begins above the workspace.
 * Elsewhere those of the workspace do: without a repository ripgrep would obey every `.gitignore` up to the root of the
 * disk, and one `*` in a home folder would hide everything.
 */
function ignoreRules(folder: ResolvedPath): readonly string[] {
  const own = ['--no-require-git', '--no-ignore-parent'];
  const upwards = [folder.absolute, ...foldersAbove(folder.absolute)];
  const repository = upwards.findIndex((path) => existsSync(join(path, '.git')));
  const top = repository < 0 ? upwards.indexOf(folder.root) : repository;
  // Looking at the folders above costs ripgrep a quarter of its time, so it is told to only where there are rules.
  if (!upwards.slice(1, top + 1).some(hasRules)) return own;
  if (repository >= 0) return [];
  // Ripgrep takes the rules of all folders above or of none: with foreign ones among them it is none.
  return upwards.slice(top + 1).some(hasRules) ? own : ['--no-require-git'];
}

function hasRules(folder: string): boolean {
  return IGNORE_FILES.some((name) => existsSync(join(folder, name)));
}

function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path), last = path; folder !== last; last = folder, folder = dirname(folder))
    folders.push(folder);
  return folders;
}
