import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ResolvedPath } from '../model/path.ts';

const IGNORE_FILES = ['.gitignore', '.ignore', '.rgignore', '.git/info/exclude'] as const;

/**
 * Arguments that select the files below a folder: hidden ones included, `.git` and ignored ones
 * excluded. Links are not followed. Global configuration is not used, only ignore files in the
 * folders themselves.
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
 * Arguments that keep ripgrep from opening protected files. They are not sufficient: ripgrep cannot
 * express all globs, and names can change while it runs. So callers check its results again.
 */
export function protectedScope(folder: ResolvedPath, globs: readonly string[]): readonly string[] {
  const plain = globs.filter((glob) => /^[^\\()[\]{}!/][^\\()[\]{}!]*$/.test(glob));
  // Globs are relative to the root; below it, only those that begin with `**/` keep their meaning.
  const valid = folder.relative === '' ? plain : plain.filter((glob) => glob.startsWith('**/'));
  return valid.map((glob) => `--iglob=!/${glob}`);
}

/**
 * Arguments that select the ignore files to use. Inside a Git repository those of the repository
 * apply, as in Git, even if it begins above the workspace. Elsewhere only those of the workspace
 * apply. Otherwise ripgrep would obey every `.gitignore` up to the root of the disk, and one `*` in
 * a home folder would hide everything.
 */
function ignoreRules(folder: ResolvedPath): readonly string[] {
  const own = ['--no-require-git', '--no-ignore-parent'];
  const upwards = [folder.absolute, ...foldersAbove(folder.absolute)];
  const repository = upwards.findIndex((path) => existsSync(join(path, '.git')));
  const top = repository < 0 ? upwards.indexOf(folder.root) : repository;
  // Checking parent folders costs ripgrep a quarter of its time, so do it only if they have rules.
  if (!upwards.slice(1, top + 1).some(hasRules)) return own;
  if (repository >= 0) return [];
  // Ripgrep uses the rules of all parent folders or of none. If foreign rules are among them, use none.
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
