import { pathText } from '../report/bounded.ts';

/** At most this many roots are named; the rest is counted. */
const MAX_NAMED = 20;

/** The folders of a workspace. */
interface Folders {
  readonly roots: readonly string[];
  /** The folder where relative paths start. Default: the first root. */
  readonly cwd?: string | undefined;
}

/**
 * Names the folders of a workspace that has several, and says where relative paths start. Empty for
 * a single folder: relative paths suffice there.
 */
export function rootsText({ roots, cwd }: Folders): string {
  if (roots.length < 2) return '';
  const named = roots.slice(0, MAX_NAMED).map(pathText).join(', ');
  const more = roots.length > MAX_NAMED ? ` and ${roots.length - MAX_NAMED} more` : '';
  const start = cwd === undefined ? 'the first' : pathText(cwd);
  return `The workspace has ${roots.length} folders: ${named}${more}. Relative paths, and calls without a path, begin in ${start}; use absolute paths for the others.`;
}

/**
 * Tells the agent about folders that differ from the roots it knows. Empty if they are the same, or
 * if the workspace has had a single root from the start.
 */
export function rootsNews(folders: Folders, known: readonly string[] | undefined): string {
  const { roots } = folders;
  if (roots.join('\0') === known?.join('\0')) return '';
  if (roots.length > 1 || known === undefined) return rootsText(folders);
  return `The workspace is now ${pathText(roots[0] ?? '')}.`;
}
