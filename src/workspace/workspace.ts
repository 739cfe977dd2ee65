import type { BigIntStats } from 'node:fs';
import { Fault } from '../model/fault.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import {
  type Action,
  type NextStep,
  type Outcome,
  type Refusal,
  type RefusalCode,
  refused,
} from '../model/verdict.ts';
import { type Folding, foldPath, platformFolding } from './fold.ts';
import { atLeast, type Guarantee, strongestGuarantee } from './guarantee.ts';
import { Naming } from './naming.ts';
import { Protection } from './protection.ts';
import { type OpenedRoots, openRoots } from './roots.ts';
import { StandingFolders } from './standing.ts';
import { type Root, type Walked, walk } from './walk.ts';

export interface WorkspaceOptions {
  /** Globs no one may touch; see Policy.protected. */
  readonly protect?: readonly string[];
  /** Canonical folders that are off limits, such as our own state. */
  readonly protectFolders?: readonly string[];
  /** Folders outside the roots that only commands, and undoing what they did, may reach: a worktree's common git folder. */
  readonly annexes?: readonly string[];
  /** Globs of protected paths that only commands, and undoing what they did, may reach; they are vetted in another way. */
  readonly releaseForCommands?: readonly string[];
  /** Folders that may be read and not changed: inside a root, or roots of their own. Absolute. */
  readonly readOnlyRoots?: readonly string[];
  /** Changes may look at files of this user that have no read permission; see Policy.verificationErrors. */
  readonly opensOwn?: boolean;
  /** Refuse to open with anything weaker. */
  readonly require?: Guarantee;
  /** Use this guarantee although a stronger one may be had; for tests of the weaker tier. */
  readonly use?: Guarantee;
}

/** Something with that name is there. */
export interface Found {
  readonly exists: true;
  readonly place: Place;
  readonly stats: BigIntStats;
}

/** Nothing is there; `missing` are the names that do not exist below `place.dir`, the last one the file's own. */
export interface Absent {
  readonly exists: false;
  readonly place: Place;
  readonly missing: readonly string[];
}

/** The caller owns `place.dir` and closes it. */
export type Located = Found | Absent;

/** Actions that change what is at a path. An undo and a command are checked by themselves, for each file. */
const CHANGES: ReadonlySet<Action> = new Set([
  'create',
  'overwrite',
  'edit',
  'insert',
  'delete',
  'move',
  'mkdir',
]);
/** Actions that take everything below a folder along. */
const TAKES_ALL: ReadonlySet<Action> = new Set(['delete', 'move']);

type Cause =
  | { readonly kind: 'escapes' }
  | { readonly kind: 'invalid'; readonly reason: string }
  | { readonly kind: 'failed'; readonly errno: string };

/** What each errno of a walk means to a caller; never "missing", which only ENOENT is. */
const BY_ERRNO: Readonly<Record<string, { code: RefusalCode; next: NextStep; reason: string }>> = {
  ENOENT: { code: 'NOT_FOUND', next: 'other_path', reason: 'a link on the way leads nowhere' },
  ENOTDIR: { code: 'NOT_A_FILE', next: 'other_path', reason: 'a part of the path is a file, not a folder' },
  ELOOP: { code: 'OUTSIDE_WORKSPACE', next: 'other_path', reason: 'too many links on the way' },
  ENAMETOOLONG: { code: 'INVALID_ARGUMENT', next: 'other_path', reason: 'a name in the path is too long' },
  EACCES: { code: 'UNVERIFIABLE', next: 'ask_human', reason: 'permission denied on the way' },
  EPERM: { code: 'UNVERIFIABLE', next: 'ask_human', reason: 'permission denied on the way' },
  EILSEQ: {
    code: 'UNVERIFIABLE',
    next: 'other_path',
    reason: 'a link on the way has a name that is no text',
  },
  ESTALE: {
    code: 'UNVERIFIABLE',
    next: 'ask_human',
    reason:
      'the workspace folder was deleted since it was opened; whoever has made it anew has to start this again',
  },
  EBUSY: { code: 'BUSY', next: 'retry_later', reason: 'the path kept changing while it was looked up' },
};

/**
 * The directory trees an agent may touch. It turns strings into places; everything that follows goes through those.
 * On Linux no component is ever followed by the kernel, so a process that swaps directories for links cannot lead a
 * place outside. Elsewhere the guarantee is `best-effort`: such a process can win a race (see LIMITS.md).
 */
export class Workspace {
  readonly guarantee: Guarantee;
  /** Canonical folders outside the roots that only commands reach. */
  readonly annexes: readonly string[];
  readonly #roots: readonly Root[];
  readonly #protection: Protection;
  readonly #folding: Folding;
  readonly #naming: Naming;
  readonly #sealed: readonly string[];
  readonly #released: Protection;
  readonly #readOnly: ReadOnlyFolders;
  readonly #standing = new StandingFolders();

  readonly #opensOwn: boolean;

  private constructor({ roots, readOnly }: OpenedRoots, guarantee: Guarantee, options: WorkspaceOptions) {
    this.#roots = roots;
    this.guarantee = guarantee;
    this.annexes = options.annexes ?? [];
    this.#opensOwn = options.opensOwn === true;
    this.#folding = platformFolding(process.platform);
    const folders = (options.protectFolders ?? []).map((folder) => foldPath(folder, this.#folding));
    this.#protection = new Protection(options.protect ?? [], folders);
    this.#sealed = folders;
    this.#readOnly = new ReadOnlyFolders(readOnly.map((folder) => foldPath(folder, this.#folding)));
    this.#released = new Protection(options.releaseForCommands ?? [], []);
    this.#naming = new Naming(roots, this.#folding, this.#protection);
  }

  /** Opens the roots and pins them: they stay the same directories even if their names are given to others. */
  static open(paths: readonly string[], options: WorkspaceOptions = {}): Workspace {
    if (!Array.isArray(paths))
      throw new Fault('CONFIG_INVALID', 'the roots must be an array of absolute folders', {
        reason: 'shape',
      });
    if (paths.length === 0)
      throw new Fault('CONFIG_INVALID', 'a workspace needs at least one root', { reason: 'empty' });
    const guarantee = options.use ?? strongestGuarantee();
    if (options.require !== undefined && !atLeast(guarantee, options.require)) {
      const message = `this machine gives the guarantee "${guarantee}", "${options.require}" was asked for`;
      throw new Fault('CONFIG_INVALID', message, { reason: 'guarantee' });
    }
    return new Workspace(
      openRoots([...paths, ...(options.annexes ?? [])], options.readOnlyRoots ?? [], guarantee),
      guarantee,
      options,
    );
  }

  /** Canonical paths of the roots, in the order given; relative paths belong to the first. */
  get roots(): readonly string[] {
    return this.#roots.map((root) => root.canonical).filter((root) => !this.annexes.includes(root));
  }

  get protectedGlobs(): readonly string[] {
    return this.#protection.globs;
  }

  /** Finds where a path leads, through links, and pins the directory it is in. */
  locate(input: string, action: Action, links: 'all' | 'parents' = 'all'): Outcome<{ located: Located }> {
    const named = this.#naming.read(input);
    if (named.kind !== 'inside') return refused(refusalOf(named, { path: printable(input), action }));
    const { root, parts, folder } = named;
    const walked = walk({
      roots: this.#roots,
      folding: this.#folding,
      standing: this.#standing,
      root,
      parts,
      folder,
      links,
    });
    if (walked.kind === 'escapes' || walked.kind === 'failed') {
      return refused(refusalOf(walked, { path: input, action }));
    }
    if (isEmptyOf(walked) && isDeleted(walked.root)) {
      walked.dir.close();
      return refused(refusalOf({ kind: 'failed', errno: 'ESTALE' }, { path: input, action }));
    }
    if (this.annexes.includes(walked.root.canonical) && action !== 'run' && action !== 'undo') {
      walked.dir.close();
      return refused(refusalOf({ kind: 'escapes' }, { path: input, action }));
    }
    const plain = walked.parts === parts && walked.root === root;
    const path = plain ? named.path : this.#naming.resolved(walked.root, walked.parts, input);
    const glob = this.protectsFrom(path, action);
    if (glob !== undefined) {
      walked.dir.close();
      return refused({ code: 'PROTECTED', action, path: input, next: 'ask_human', detail: { reason: glob } });
    }
    if (this.#readOnly.forbids(path, action)) {
      walked.dir.close();
      const detail = { reason: 'root' };
      return refused({ code: 'READ_ONLY', action, path: input, next: 'ask_human', detail });
    }
    const located = locatedOf(walked, path);
    if (!this.#opensOwn || !(CHANGES.has(action) || action === 'undo')) return { ok: true, located };
    return { ok: true, located: { ...located, place: { ...located.place, opensOwn: true } } };
  }

  /** True if a file may be read and not changed because of the folder it is in. */
  isReadOnly(key: string): boolean {
    return this.#readOnly.includes(key);
  }

  /** Where a path leads, as a name only. What is there may be another file a moment later. */
  resolve(input: string, action: Action = 'status'): Outcome<{ path: ResolvedPath; exists: boolean }> {
    const outcome = this.locate(input, action);
    if (!outcome.ok) return outcome;
    const { place, exists } = outcome.located;
    place.dir.close();
    return { ok: true, path: place.path, exists };
  }

  /** The key of a path if no link is on its way, by its text alone; undefined if it names nothing inside. */
  keyOf(input: string): string | undefined {
    return this.pathOf(input)?.key;
  }

  /** The path of a name if no link is on its way, by its text alone; undefined if it names nothing inside. */
  pathOf(input: string): ResolvedPath | undefined {
    const named = this.#naming.read(input);
    return named.kind === 'inside' ? named.path : undefined;
  }

  /** The resolved path of a name found while listing a pinned directory. */
  child(parent: ResolvedPath, name: string): ResolvedPath {
    const root = this.#roots.find((candidate) => candidate.canonical === parent.root);
    if (root === undefined) throw new Fault('MISUSE', `not a path of this workspace: ${parent.given}`);
    const parts = parent.relative === '' ? [name] : [...parent.relative.split('/'), name];
    return this.#naming.resolved(root, parts, parent.given === '.' ? name : `${parent.given}/${name}`);
  }

  /** The name of a file that a journal knows by its key; nothing is looked at. */
  named(key: string, relative: string): ResolvedPath {
    return this.#naming.known(key, relative);
  }

  /** The glob or folder that keeps this path from every session, or undefined. */
  protects(path: ResolvedPath): string | undefined {
    return this.#naming.protects(path);
  }

  /** Like `protects`, for one action: some globs do not keep commands out, nor the undoing of what they did. */
  protectsFrom(path: ResolvedPath, action: Action): string | undefined {
    const glob = this.protects(path);
    if (glob === undefined || (action !== 'run' && action !== 'undo') || this.#sealed.includes(glob))
      return glob;
    return this.#released.protects(path.relative, path.key) === undefined ? glob : undefined;
  }

  /** How many levels below a folder have to be asked whether they are protected there and not elsewhere. */
  protectionReach(path: ResolvedPath): number {
    return this.#naming.reach(path);
  }

  /** Is this a root itself? Where roots nest, one may have a name below another. */
  isRoot({ relative, absolute }: ResolvedPath): boolean {
    return relative === '' || (this.#roots.length > 1 && this.roots.includes(absolute));
  }

  /**
   * Is a root where it was when it was opened? One that was moved or deleted since is still the same directory, but a journal
   * knows its files by a path that leads elsewhere by now. True where nobody can tell.
   */
  stands(root: string): boolean {
    const found = this.#roots.find(({ canonical }) => canonical === root);
    return found?.where === undefined || found.where() === root;
  }

  close(): void {
    this.#standing.close();
    for (const root of this.#roots) root.dir.close();
  }
}

/** Nothing was found below a root: there is nothing, or the root is no more. */
function isEmptyOf(walked: Extract<Walked, { dir: PinnedDirectory }>): boolean {
  return walked.kind === 'missing' || walked.parts.length === 0;
}

function isDeleted({ canonical, where }: Root): boolean {
  return where?.() === `${canonical} (deleted)`;
}

function locatedOf(walked: Extract<Walked, { dir: PinnedDirectory }>, path: ResolvedPath): Located {
  if (walked.kind === 'missing') {
    const place = { path, dir: walked.dir, name: walked.missing[0] ?? '.' };
    return { exists: false, place, missing: walked.missing };
  }
  return {
    exists: true,
    place: { path, dir: walked.dir, name: walked.parts.at(-1) ?? '.' },
    stats: walked.stats,
  };
}

function printable(input: unknown): string {
  if (typeof input === 'string') return input.replaceAll('\0', '\\0');
  // Objects are not asked for a string: they may have none, or run code of their own.
  return typeof input === 'object' && input !== null ? '[object]' : String(input);
}

/** Folders of a workspace that may be read and not changed. */
class ReadOnlyFolders {
  readonly #folders: readonly { readonly key: string; readonly below: string }[];

  /** `keys`: of the folders, which are inside the roots. */
  constructor(keys: readonly string[]) {
    this.#folders = keys.map((key) => ({ key, below: `${key}/` }));
  }

  includes(key: string): boolean {
    return this.#folders.some((folder) => key === folder.key || key.startsWith(folder.below));
  }

  /** True if this action would change something in one of the folders. */
  forbids({ key }: ResolvedPath, action: Action): boolean {
    if (this.#folders.length === 0 || !CHANGES.has(action)) return false;
    if (this.includes(key)) return true;
    return TAKES_ALL.has(action) && this.#folders.some((folder) => folder.key.startsWith(`${key}/`));
  }
}

/** Why a path could not be resolved, as a refusal. An outside path gives one answer, whatever is there. */
function refusalOf(cause: Cause, request: { readonly path: string; readonly action: Action }): Refusal {
  switch (cause.kind) {
    case 'escapes':
      return { code: 'OUTSIDE_WORKSPACE', ...request, next: 'other_path' };
    case 'invalid':
      return { code: 'INVALID_ARGUMENT', ...request, next: 'fix_argument', detail: { reason: cause.reason } };
    case 'failed': {
      const known = BY_ERRNO[cause.errno];
      const { code, next, reason } = known ?? {
        code: 'UNVERIFIABLE',
        next: 'retry_later',
        reason: 'the path could not be looked up',
      };
      return { code, ...request, next, detail: { reason, errno: cause.errno } };
    }
    default:
      return cause satisfies never;
  }
}
