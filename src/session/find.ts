import { findRipgrep, runRipgrep } from '../disk/ripgrep.ts';
import { type FileGlob, readGlob, scopeOf } from '../disk/ripgrep-glob.ts';
import { NewestFiles, RipgrepRecords } from '../disk/ripgrep-records.ts';
import { Fault } from '../model/fault.ts';
import type { FindResult } from '../model/results.ts';
import type { FindOptions } from '../model/session.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import type { Workspace } from '../workspace/workspace.ts';
import {
  invalidSearch,
  openBase,
  runLimits,
  type SearchTarget,
  type SearchWorld,
  shownPath,
  tooLong,
  whyUnusable,
} from './search-target.ts';

const DEFAULT_LIMIT = 100;

/**
 * Finds files by glob, newest first, then by name. A glob without `/` matches base names at any depth; otherwise it
 * matches the path from the searched folder. Hidden files are found. `.git`, ignored files, links and protected paths
 * are not. Every shown path is located again through handles inside the workspace. So a folder swapped for a link while
 * ripgrep runs shows no outside name. A found file does not count as seen: none of its content was shown.
 */
export async function findFiles(
  world: SearchWorld,
  pattern: string,
  options: FindOptions = {},
): Promise<Outcome<FindResult>> {
  const { path = '.', limit = DEFAULT_LIMIT } = options;
  const reason = whyUnusable('pattern', pattern);
  if (reason !== undefined) return refused(invalidSearch(path, reason));
  const glob = readGlob(pattern);
  if ('problem' in glob) return refused(invalidSearch(path, glob.problem));
  const opened = openBase(world.workspace, path, glob.base);
  if (!opened.ok) return opened;
  const { target } = opened;
  if (target === undefined) return { ok: true, paths: [], truncated: false };
  try {
    if (target.kind === 'file')
      return refused({
        code: 'NOT_A_FILE',
        action: 'search',
        path,
        next: 'other_path',
        detail: { kind: 'file', reason: 'it is a file, not a folder' },
      });
    return await newestIn(world, target, { path, glob, limit, options });
  } finally {
    target.dir.close();
  }
}

interface Wanted {
  readonly path: string;
  readonly glob: FileGlob;
  readonly limit: number;
  readonly options: FindOptions;
}

async function newestIn(world: SearchWorld, folder: Folder, wanted: Wanted): Promise<Outcome<FindResult>> {
  const { workspace, ripgrep = {} } = world;
  const { signal, onProgress } = wanted.options;
  const files = new NewestFiles(folder.dir, wanted.limit);
  const records = new RipgrepRecords('\0');
  const base = wanted.glob.base.map((name) => `${name}/`).join('');
  const end = await runRipgrep({
    binary: await findRipgrep(ripgrep, workspace.roots),
    args: ['--files', '--null', ...scopeOf(folder.path), ...wanted.glob.args],
    where: { folder: folder.dir.prefix },
    signal,
    limits: runLimits(world),
    onLook: () => onProgress?.(files.found),
    onOutput: (chunk) => {
      files.add(records.take(chunk).filter((path) => wanted.glob.matches(base + path)));
      return 'more';
    },
  });
  if (end.how === 'failed')
    throw new Fault('IO_FAILED', `ripgrep could not list the files: ${end.complaint || 'it was ended'}`);
  const paths: string[] = [];
  for (const path of files.newest()) {
    const found = foundAgain(workspace, folder, path);
    if (found !== undefined) paths.push(found);
    if (paths.length > wanted.limit) break;
  }
  if (end.how === 'overrun' && paths.length === 0) return refused(tooLong(wanted.path));
  const truncated = paths.length > wanted.limit || files.cut > 0 || end.how !== 'done';
  return { ok: true, paths: paths.slice(0, wanted.limit), truncated };
}

type Folder = Extract<SearchTarget, { kind: 'folder' }>;

/** The path to show, if the file is inside the workspace, not reached through a link to outside, and not protected. */
function foundAgain(workspace: Workspace, folder: Folder, path: string): string | undefined {
  const outcome = workspace.locate(`${folder.path.absolute}/${path}`, 'search', 'parents');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  located.place.dir.close();
  return located.exists && located.stats.isFile() ? shownPath(workspace, located.place.path) : undefined;
}
