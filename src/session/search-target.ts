import { DEFAULT_LIMITS, type RipgrepSource, type RunLimits } from '../disk/ripgrep.ts';
import { kindOf } from '../disk/stats.ts';
import { errnoOf } from '../model/errno.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { Workspace } from '../workspace/workspace.ts';

/** The parts that find and search need. Every gate's World has them. */
export interface SearchWorld {
  readonly workspace: Workspace;
  /** Settings for masking secrets in hits and for the time limit. Default: masked. */
  readonly policy?: Pick<Policy, 'secrets' | 'maxReadMs'>;
  /** The ripgrep binary and its limits, for tests and unusual installations. */
  readonly ripgrep?: RipgrepSource & { readonly limits?: RunLimits };
}

/** Time and memory limits of one search. */
export function runLimits({ policy, ripgrep }: SearchWorld): RunLimits {
  if (ripgrep?.limits !== undefined) return ripgrep.limits;
  return policy === undefined ? DEFAULT_LIMITS : { ...DEFAULT_LIMITS, timeMs: policy.maxReadMs };
}

/** The target of a search: a pinned folder, or one file in its pinned folder. The owner must close it. */
export type SearchTarget =
  | { readonly kind: 'folder'; readonly dir: PinnedDirectory; readonly path: ResolvedPath }
  | { readonly kind: 'file'; readonly dir: PinnedDirectory; readonly place: Place };

/** Locates and pins the target. Anything but a folder or a file is refused before it is opened. */
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
    // The path was a folder a moment ago.
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
 * The folder that holds every match of a glob that begins with folder names. Undefined if it does not exist. A named
 * folder counts as requested: links to it are followed inside the workspace, and it is searched even if it is ignored.
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

/** A path for the next call: relative to the first root, or absolute in another root. */
export function shownPath(workspace: Workspace, path: ResolvedPath): string {
  return path.root === workspace.roots[0] ? path.relative : path.absolute;
}

export function invalidSearch(path: string, reason: string): Refusal {
  return { code: 'INVALID_ARGUMENT', action: 'search', path, next: 'fix_argument', detail: { reason } };
}

/** The refusal for a search that ran out of time before its first hit. */
export function tooLong(path: string): Refusal {
  return invalidSearch(path, 'nothing was found before the search took too long; name a smaller folder');
}

/** The reason a text cannot be passed to ripgrep, or undefined if it can. */
export function whyUnusable(what: string, text: unknown): string | undefined {
  if (typeof text !== 'string' || text === '') return `the ${what} is empty`;
  if (text.includes('\0')) return `the ${what} contains a NUL character`;
  if (!text.isWellFormed()) return `the ${what} contains half of a surrogate pair`;
  return text.length > MAX_TEXT_CHARS ? `the ${what} is longer than ${MAX_TEXT_CHARS} characters` : undefined;
}

/** Linux limits each process argument to 128 KB. */
const MAX_TEXT_CHARS = 20_000;
