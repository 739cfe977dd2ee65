import { kindOf } from '../disk/read.ts';
import { DEFAULT_LIMITS, findRipgrep, type RipgrepEnd, runRipgrep } from '../disk/ripgrep.ts';
import { type FileGlob, readGlob, scopeOf } from '../disk/ripgrep-glob.ts';
import { NewestFiles, RipgrepRecords } from '../disk/ripgrep-records.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { LIMITS } from '../model/limits.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import type { FindResult } from '../model/results.ts';
import type { FindOptions } from '../model/session.ts';
import { invalidArgument, type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { KnownSecrets } from '../text/secrets.ts';
import type { Workspace } from '../workspace/workspace.ts';

const DEFAULT_LIMIT = 100;

/**
 * Finds files by glob (see `readGlob`), newest first, then by name. Hidden files are found; `.git`,
 * ignored files, links and protected paths are not. Every path is located again before it is shown,
 * because another process may swap a folder for a link while ripgrep runs. A found file does not
 * count as seen.
 */
export async function findFiles(
  world: SearchWorld,
  pattern: string,
  options: FindOptions = {},
): Promise<Outcome<FindResult>> {
  const { path = '.', limit = DEFAULT_LIMIT } = options;
  const reason = whyUnusable('pattern', pattern);
  if (reason !== undefined) return refused(invalidArgument('search', path, reason));
  const glob = readGlob(pattern);
  if ('problem' in glob) return refused(invalidArgument('search', path, glob.problem));
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
    onTick: () => onProgress?.(files.found),
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
  const isCut = paths.length > wanted.limit || files.cut > 0;
  const how = files.unreachable > 0 && end.how === 'done' ? 'partly' : end.how;
  return { ok: true, paths: paths.slice(0, wanted.limit), ...completeness({ isCut, how }) };
}

/**
 * The fields of a result that say whether the result may be incomplete, and whether unreadable
 * files are the only reason.
 */
export function completeness({
  isCut,
  how,
}: {
  readonly isCut: boolean;
  readonly how: RipgrepEnd['how'];
}): Pick<FindResult, 'truncated' | 'unreadable'> {
  if (!isCut && how === 'partly') return { truncated: true, unreadable: true };
  return { truncated: isCut || how !== 'done' };
}

type Folder = Extract<SearchTarget, { kind: 'folder' }>;

/**
 * The path to show for a file that ripgrep found. Undefined if the file is gone or not a regular
 * file, is protected, or is reached through a link to outside the workspace.
 */
function foundAgain(workspace: Workspace, folder: Folder, path: string): string | undefined {
  const found = workspace.resolve(`${folder.path.absolute}/${path}`, 'search', 'parents');
  return found.ok && found.exists && found.stats.isFile() ? workspace.shown(found.path) : undefined;
}

/** The parts of an open workspace that find and search need. */
export interface SearchWorld {
  readonly workspace: Workspace;
  /**
   * Settings for masking secrets in hits. Without a policy, secrets are masked.
   */
  readonly policy?: Pick<Policy, 'secrets'>;
  readonly secretValues?: KnownSecrets;
  /** The ripgrep binary and its limits, for tests and unusual installations. */
  readonly ripgrep?: Parameters<typeof findRipgrep>[0] & { readonly limits?: typeof DEFAULT_LIMITS };
}

/** Time and memory limits of one search. */
export function runLimits({ policy, ripgrep }: SearchWorld): typeof DEFAULT_LIMITS {
  if (ripgrep?.limits !== undefined) return ripgrep.limits;
  return policy === undefined ? DEFAULT_LIMITS : { ...DEFAULT_LIMITS, timeMs: LIMITS.maxReadMs };
}

/**
 * The target of a search: an open folder, or one file in its open folder. The caller must close the
 * folder.
 */
export type SearchTarget =
  | { readonly kind: 'folder'; readonly dir: PinnedDirectory; readonly path: ResolvedPath }
  | { readonly kind: 'file'; readonly dir: PinnedDirectory; readonly place: Place };

/**
 * Locates the target and opens its folder. Anything but a folder or a file is refused before it is
 * opened.
 */
function openTarget(workspace: Workspace, path: string): Outcome<{ target: SearchTarget }> {
  const outcome = workspace.locate(path, 'search');
  if (!outcome.ok) return outcome;
  const { place, exists } = outcome.located;
  const target = exists ? targetOf(place, kindOf(outcome.located.stats)) : notFound(path);
  if ('code' in target || target.dir !== place.dir) place.dir.close();
  return 'code' in target ? refused({ ...target, path }) : { ok: true, target };
}

function targetOf(place: Place, kind: ReturnType<typeof kindOf>): SearchTarget | Refusal {
  const { path, dir } = place;
  if (kind === 'file') return { kind, dir, place };
  if (kind !== 'directory')
    return { code: 'NOT_A_FILE', action: 'search', path: path.given, next: 'other_path', detail: { kind } };
  try {
    return { kind: 'folder', dir: place.name === '.' ? dir : dir.enter(place.name), path };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    // Another program has replaced the folder since it was located. The agent can try again.
    return {
      code: 'UNVERIFIABLE',
      action: 'search',
      path: path.given,
      next: 'retry_later',
      detail: { errno },
    };
  }
}

function notFound(path: string): Refusal {
  return { code: 'NOT_FOUND', action: 'search', path, next: 'other_path' };
}

/**
 * Opens `path`, or the folder inside it with which the glob begins (`base`). Undefined if there is
 * no such folder. The folder is searched even if it is ignored, or is a link to another folder of
 * the workspace.
 */
export function openBase(
  workspace: Workspace,
  path: string,
  base: readonly string[],
): Outcome<{ target: SearchTarget | undefined }> {
  const outcome = openTarget(workspace, path);
  if (!outcome.ok || base.length === 0 || outcome.target.kind === 'file') return outcome;
  outcome.target.dir.close();
  const inner = openTarget(workspace, `${path}/${base.join('/')}`);
  if (!inner.ok) return isNothing(inner.refusal) ? { ok: true, target: undefined } : inner;
  if (inner.target.kind === 'folder') return inner;
  inner.target.dir.close();
  return { ok: true, target: undefined };
}

function isNothing({ code }: Refusal): boolean {
  return code === 'NOT_FOUND' || code === 'NOT_A_FILE';
}

/** The refusal for a search that ran out of time before its first hit. */
export function tooLong(path: string): Refusal {
  return invalidArgument(
    'search',
    path,
    'nothing was found before the search took too long; name a smaller folder',
  );
}

/** The reason a text cannot be passed to ripgrep, or undefined if it can. */
export function whyUnusable(what: string, text: unknown): string | undefined {
  if (text !== undefined && typeof text !== 'string') return `the ${what} is not a string`;
  if (text === undefined || text === '') return `the ${what} is empty`;
  if (text.includes('\0')) return `the ${what} contains a NUL character`;
  if (!text.isWellFormed()) return `the ${what} contains half of a surrogate pair`;
  return text.length > MAX_TEXT_CHARS ? `the ${what} is longer than ${MAX_TEXT_CHARS} characters` : undefined;
}

/**
 * The longest text that is passed to ripgrep. A longer text is refused, because Linux limits each
 * process argument to 128 KB.
 */
const MAX_TEXT_CHARS = 20_000;
