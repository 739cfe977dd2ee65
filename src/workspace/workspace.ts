import { type BigIntStats, lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { Fault, unlessErrno } from '../model/fault.ts';
import { isBelow, isOutside, type PinnedDirectory, type Place, type ResolvedPath } from '../model/path.ts';
import { type Action, type Outcome, type RefusalOf, type Refused, refused } from '../model/verdict.ts';
import { foldPath, type NameComparison, platformFolding } from './lexical.ts';
import { atLeast, type Guarantee, SharedDirectory, strongestGuarantee } from './pinned.ts';
import { canonicalName, openRoots, Protection, WorkspacePaths } from './roots.ts';
import { refusalOf } from './unresolved.ts';
import { type Root, walk } from './walk.ts';

interface WorkspaceSettings {
  /** Globs of paths that no session may touch; see Policy.protected. */
  readonly protect?: readonly string[];
  /** Canonical folders that are protected, such as our own state folder. */
  readonly protectFolders?: readonly string[];
  /**
   * Folders outside the roots that only commands and their undo may reach, such as a worktree's
   * common git folder.
   */
  readonly extraRoots?: readonly string[];
  /** Globs of protected paths, such as `.git`, that commands and their undo may change, but no other action. */
  readonly releaseForCommands?: readonly string[];
  /** Absolute folders that may be read but not changed. A folder that is in no root becomes another root. */
  readonly readOnlyRoots?: readonly string[];
  /** Lets changes open the user's own unreadable files; see Policy.verificationErrors. */
  readonly opensOwn?: boolean;
  /** Refuse to open if only a weaker guarantee against swapped links is available. */
  readonly require?: Guarantee;
  /** Use this guarantee even if a stronger one is available; for tests. */
  readonly use?: Guarantee;
}

/** A located path that exists. */
export interface Found {
  readonly exists: true;
  readonly place: Place;
  readonly stats: BigIntStats;
}

/**
 * A located path that does not exist. `missing`: the names below `place.dir` that do not exist; the last is the file's
 * own name.
 */
interface Absent {
  readonly exists: false;
  readonly place: Place;
  readonly missing: readonly string[];
}

/** The detail of a refusal for a path that does not exist. */
export function absenceOf({ missing }: Absent): Pick<RefusalOf<'NOT_FOUND'>, 'detail'> {
  return missing.length > 1 ? { detail: { absentNames: missing.length } } : {};
}

/** The result of `locate`. The caller owns `place.dir` and closes it. */
export type Located = Found | Absent;

/** The target of a path when it was resolved. Its folder is closed. */
type Resolved = { readonly path: ResolvedPath } & (Omit<Found, 'place'> | Omit<Absent, 'place'>);

/** A path as a caller writes it, and what it is wanted for. `links`: see `locate`. */
interface Wanted {
  readonly path: string;
  readonly action: Action;
  readonly links?: 'all' | 'parents' | undefined;
}

/**
 * The directory trees an agent may touch. Turns strings into places (a pinned folder and a name),
 * which all operations use. On Linux, a process that swaps directories for links cannot redirect a
 * place. Elsewhere the guarantee is `best-effort`: such a process can win a race (see LIMITS.md).
 */
export class Workspace {
  readonly guarantee: Guarantee;
  readonly #extraRoots: string[];
  readonly #gitFolders: readonly string[];
  readonly #roots: Root[];
  readonly #protection: Protection;
  readonly #folding: NameComparison;
  readonly #paths: WorkspacePaths;
  readonly #sealed: readonly string[];
  readonly #released: Protection;
  readonly #readOnly: ReadOnlyFolders;

  readonly #opensOwn: boolean;

  private constructor(
    { roots, readOnly }: ReturnType<typeof openRoots>,
    guarantee: Guarantee,
    options: WorkspaceSettings,
  ) {
    this.#roots = [...roots];
    this.guarantee = guarantee;
    this.#gitFolders = options.extraRoots ?? [];
    this.#extraRoots = [...this.#gitFolders];
    this.#opensOwn = options.opensOwn === true;
    this.#folding = platformFolding(process.platform);
    const folders = (options.protectFolders ?? []).map((folder) => foldPath(folder, this.#folding));
    this.#protection = new Protection(options.protect ?? [], folders);
    this.#sealed = folders;
    this.#readOnly = new ReadOnlyFolders(readOnly.map((folder) => foldPath(folder, this.#folding)));
    this.#released = new Protection(options.releaseForCommands ?? [], []);
    this.#paths = new WorkspacePaths(this.#roots, this.#folding, this.#protection);
  }

  /** Opens and pins the roots: they stay the same directories even if their names are reused. */
  static open(paths: readonly string[], options: WorkspaceSettings = {}): Workspace {
    if (!Array.isArray(paths))
      throw new Fault('CONFIG_INVALID', 'the roots must be an array of absolute folders', {
        reason: 'shape',
      });
    if (paths.length === 0)
      throw new Fault('CONFIG_INVALID', 'a workspace needs at least one root', { reason: 'empty' });
    const guarantee = options.use ?? strongestGuarantee();
    if (options.require !== undefined && !atLeast(guarantee, options.require)) {
      const message = `this machine supports the guarantee "${guarantee}", but "${options.require}" is required`;
      throw new Fault('CONFIG_INVALID', message, { reason: 'guarantee' });
    }
    return new Workspace(
      openRoots([...paths, ...(options.extraRoots ?? [])], options.readOnlyRoots ?? [], guarantee),
      guarantee,
      options,
    );
  }

  /** Canonical paths of the roots, in the order given. Relative paths refer to the first. */
  get roots(): readonly string[] {
    return this.#roots.map((root) => root.canonical).filter((root) => !this.extraRoots.includes(root));
  }

  /** Canonical folders outside the roots that only commands and undo may reach. */
  get extraRoots(): readonly string[] {
    return this.#extraRoots;
  }

  /** The git folders that the roots share with other worktrees, if they are outside the roots. */
  get gitFolders(): readonly string[] {
    return this.#gitFolders;
  }

  /**
   * Lets commands and undo reach a folder outside the roots, such as another worktree of the
   * repository. With `make`, creates the folder if only its parent exists. `missing`: there is no
   * such folder.
   */
  adopt(folder: string, make?: 'make'): 'there' | 'made' | 'missing' {
    if (this.#extraRoots.includes(folder) && !this.stands(folder)) this.#release(folder);
    if (this.pathOf(folder) !== undefined) return 'there';
    const isMade = make === 'make' && unlessErrno(() => mkdirSync(folder) ?? true) === true;
    if (unlessErrno(() => lstatSync(folder))?.isDirectory() !== true) return 'missing';
    const { roots } = openRoots([folder], [], this.guarantee);
    this.#roots.push(...roots);
    this.#extraRoots.push(...roots.map(({ canonical }) => canonical));
    this.#paths.forget();
    return isMade ? 'made' : 'there';
  }

  #release(folder: string): void {
    const at = this.#roots.findIndex(({ canonical }) => canonical === folder);
    for (const root of this.#roots.splice(at, 1)) root.dir.close();
    this.#extraRoots.splice(this.#extraRoots.indexOf(folder), 1);
    this.#paths.forget();
  }

  /** Removes a folder that `adopt` made, if it is still empty. */
  abandon(folder: string): void {
    unlessErrno(() => rmdirSync(folder));
  }

  get protectedGlobs(): readonly string[] {
    return this.#protection.globs;
  }

  /** Resolves a path through links and pins the directory that contains it. */
  locate(input: string, action: Action, links: 'all' | 'parents' = 'all'): Outcome<{ located: Located }> {
    const named = this.#paths.read(input);
    if (named.kind !== 'inside') return refused(refusalOf(named, { path: printable(input), action }));
    const { root, parts } = named;
    const walked = walk({ roots: this.#roots, folding: this.#folding, root, parts, links });
    if (walked.kind === 'escapes' || walked.kind === 'failed') {
      return refused(refusalOf(walked, { path: input, action }));
    }
    // A missing name, or the root itself: both can mean that the root was deleted.
    if ((walked.kind === 'missing' || walked.parts.length === 0) && isDeleted(walked.root)) {
      walked.dir.close();
      return refused(refusalOf({ kind: 'failed', errno: 'ESTALE' }, { path: input, action }));
    }
    if (this.#extraRoots.includes(walked.root.canonical) && action !== 'run' && action !== 'undo') {
      walked.dir.close();
      return refused(refusalOf({ kind: 'escapes' }, { path: input, action }));
    }
    const plain = walked.parts === parts && walked.root === root;
    const { path, protectedBy } = plain ? named : this.#paths.reached(walked.root, walked.parts, input);
    const glob = this.#unlessReleased(protectedBy, path, action);
    if (glob !== undefined) {
      walked.dir.close();
      return refused({ code: 'PROTECTED', action, path: input, next: 'ask_human', detail: { reason: glob } });
    }
    if (this.#readOnly.forbids(path, action)) {
      walked.dir.close();
      const detail = { cause: 'root' } as const;
      return refused({ code: 'READ_ONLY', action, path: input, next: 'ask_human', detail });
    }
    const located = locatedOf(walked, path);
    if (!this.#opensOwn || !(CHANGES.has(action) || action === 'undo')) return { ok: true, located };
    return { ok: true, located: { ...located, place: { ...located.place, opensOwn: true } } };
  }

  /**
   * Locates another name in the folder of a place that was just located. Follows no link. If the
   * folder was moved since, reads the moved folder. The caller keeps `dir` open. Undefined if the
   * name is missing or not allowed, or if `guarantee` is not `walk`: the caller then calls
   * `locate`.
   */
  locateBeside({ path, dir }: Place, name: string, action: Action): Located | undefined {
    if (this.guarantee !== 'walk') return undefined;
    const beside = this.#paths.beside(path, name);
    if (this.protectsFrom(beside, action) !== undefined || this.#readOnly.forbids(beside, action))
      return undefined;
    const stats = unlessErrno(() => lstatSync(`${dir.prefix}/${name}`, { bigint: true }));
    if (stats === undefined) return undefined;
    const opensOwn = this.#opensOwn && action === 'undo' ? { opensOwn: true as const } : {};
    return { exists: true, stats, place: { path: beside, dir: new SharedDirectory(dir), name, ...opensOwn } };
  }

  /** True if the file is in a folder that may be read but not changed. */
  isReadOnly(key: string): boolean {
    return this.#readOnly.includes(key);
  }

  /** Locates a path, runs `work` there, and closes the folder, even if `work` fails. */
  async at<T>(
    { path, action, links }: Wanted,
    work: (located: Located) => T | Promise<T>,
    otherwise: (refused: Refused) => T | Promise<T>,
  ): Promise<T> {
    const outcome = this.locate(path, action, links);
    if (!outcome.ok) return otherwise(outcome);
    try {
      return await work(outcome.located);
    } finally {
      outcome.located.place.dir.close();
    }
  }

  /** Like `at`, for work that does not wait. */
  atOnce<T>(
    { path, action, links }: Wanted,
    work: (located: Located) => T,
    otherwise: (refused: Refused) => T,
  ): T {
    const outcome = this.locate(path, action, links);
    if (!outcome.ok) return otherwise(outcome);
    try {
      return work(outcome.located);
    } finally {
      outcome.located.place.dir.close();
    }
  }

  /** Like `locate`, but closes the folder. Other programs may then replace the file. */
  resolve(input: string, action: Action = 'status', links: 'all' | 'parents' = 'all'): Outcome<Resolved> {
    const outcome = this.locate(input, action, links);
    if (!outcome.ok) return outcome;
    const { place, ...found } = outcome.located;
    place.dir.close();
    return { ok: true, path: place.path, ...found };
  }

  /** The key of a path, by its text alone, assuming no links; undefined if it is not inside the workspace. */
  keyOf(input: string): string | undefined {
    return this.pathOf(input)?.key;
  }

  /** The resolved path, by its text alone, assuming no links; undefined if it is not inside the workspace. */
  pathOf(input: string): ResolvedPath | undefined {
    const named = this.#paths.read(input);
    return named.kind === 'inside' ? named.path : undefined;
  }

  /**
   * The canonical name of a path that is outside the workspace by its text; undefined if it is
   * inside. A link on such a path may lead into a root. Other programs follow that link;
   * Lookfirst's own operations do not.
   */
  canonicalOutside(input: string): string | undefined {
    return this.#paths.read(input).kind === 'escapes' ? canonicalName(input) : undefined;
  }

  /** The resolved path of a name found while listing a pinned directory. */
  child(parent: ResolvedPath, name: string): ResolvedPath {
    const root = this.#roots.find((candidate) => candidate.canonical === parent.root);
    if (root === undefined) throw new Fault('MISUSE', `not a path of this workspace: ${parent.given}`);
    const parts = parent.relative === '' ? [name] : [...parent.relative.split('/'), name];
    return this.#paths.resolved(root, parts, parent.given === '.' ? name : `${parent.given}/${name}`);
  }

  /** The path of a file that a journal records by its key. Does not read the file system. */
  named(key: string, relative: string): ResolvedPath {
    return this.#paths.known(key, relative);
  }

  /** A path as the next call can use it: relative if it is in the first root, otherwise absolute. */
  shown({ root, relative, absolute }: Pick<ResolvedPath, 'root' | 'relative' | 'absolute'>): string {
    return this.roots.indexOf(root) > 0 ? absolute : relative;
  }

  /** Like `shown`, for a path that a journal entry names by its key and relative path. */
  shownAt({ key, relative }: { readonly key: string; readonly relative: string }): string {
    if (isOutside({ key, relative }, this.roots)) return key;
    return this.roots.length === 1 ? relative : this.shown(this.named(key, relative));
  }

  /** The glob or folder that protects this path from every session; undefined if none. */
  protects(path: ResolvedPath): string | undefined {
    return this.#paths.protects(path);
  }

  /** Like `protects`, for one action: some globs do not apply to commands or to undoing them. */
  protectsFrom(path: ResolvedPath, action: Action): string | undefined {
    return this.#unlessReleased(this.#paths.protects(path), path, action);
  }

  #unlessReleased(glob: string | undefined, path: ResolvedPath, action: Action): string | undefined {
    if (glob === undefined || (action !== 'run' && action !== 'undo') || this.#sealed.includes(glob))
      return glob;
    return this.#released.protects(path.relative, path.key) === undefined ? glob : undefined;
  }

  /**
   * A move of a folder changes the paths of the files in it. So a file that is not protected may
   * become protected, or the other way round. Returns the number of levels below the folder on
   * which this can happen. A move must check the files on these levels.
   */
  protectionReach(path: ResolvedPath): number {
    return this.#paths.reach(path);
  }

  /**
   * True if the path leads to a root, even if it is given relative to another root that contains
   * this one.
   */
  isRoot({ relative, absolute }: ResolvedPath): boolean {
    return relative === '' || (this.#roots.length > 1 && this.roots.includes(absolute));
  }

  /**
   * False if a root was moved or deleted since it was opened: the journal's paths then no longer
   * lead to it. True if this system cannot report the path of an open folder.
   */
  stands(root: string): boolean {
    const found = this.#roots.find(({ canonical }) => canonical === root);
    return found?.where === undefined || found.where() === root;
  }

  close(): void {
    for (const root of this.#roots) root.dir.close();
  }
}

function isDeleted({ canonical, where }: Root): boolean {
  return where?.() === `${canonical} (deleted)`;
}

function locatedOf(
  walked: Extract<ReturnType<typeof walk>, { dir: PinnedDirectory }>,
  path: ResolvedPath,
): Located {
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
  // Objects are not converted: they may have no string form, or run their own code.
  return typeof input === 'object' && input !== null ? '[object]' : String(input);
}

/** Actions that change the entry at a path. Undo and commands are checked separately, file by file. */
const CHANGES: ReadonlySet<Action> = new Set([
  'create',
  'overwrite',
  'edit',
  'insert',
  'delete',
  'move',
  'mkdir',
]);
/** Actions that affect everything below a folder. */
const TAKES_ALL: ReadonlySet<Action> = new Set(['delete', 'move']);

/** Folders of a workspace that may be read but not changed. */
class ReadOnlyFolders {
  readonly #folders: readonly { readonly key: string; readonly below: string }[];

  constructor(keys: readonly string[]) {
    // The folder may be `/`, which already ends in a slash.
    this.#folders = keys.map((key) => ({ key, below: key.endsWith('/') ? key : `${key}/` }));
  }

  includes(key: string): boolean {
    return this.#folders.some((folder) => key === folder.key || key.startsWith(folder.below));
  }

  /** True if this action would change something in one of the folders. */
  forbids({ key }: ResolvedPath, action: Action): boolean {
    if (this.#folders.length === 0 || !CHANGES.has(action)) return false;
    if (this.includes(key)) return true;
    return TAKES_ALL.has(action) && this.#folders.some((folder) => isBelow(folder.key, key));
  }
}
