import { basename, dirname, relative, resolve } from 'node:path';
import { EACH } from '../../dialect/calls/shell/destroyed.ts';
import { parsedLine } from '../../dialect/calls/shell/shell-line.ts';
import type { Sweep } from '../../dialect/calls/shell/sweeps.ts';
import type { OnlyCopy, ThingAtRisk } from '../../judge/destruction.ts';
import { isWithin } from '../../model/path.ts';
import {
  aliasOf,
  commonGitFolder,
  gitFolderOf,
  ignoredByGit,
  isMainWorktree,
  repositoryAround,
} from '../../process/git.ts';
import { type Dropped, type GitContent, onlyIn } from '../../process/git-copies.ts';
import { commitOf, detachedOnly, hasHistory, type LoggedRef, stashesIn } from '../../process/git-refs.ts';
import { cleanedBy, filesIn, type GitStatus, repositoryTop, statusOf } from '../../process/git-status.ts';
import { listedNames } from '../../process/named-files.ts';
import { entriesOf, entryAt, passingTest, pathsBelow, realFolder } from '../../process/own-files.ts';
import { outputTest } from '../outputs.ts';
import type { World } from '../world.ts';
import { MAX_FILE_BYTES } from './keep.ts';

/** Something that a line would destroy, before it is known who made it. */
export interface Threat extends Omit<ThingAtRisk, 'writer'> {
  /** The path of the file, of the reference's own file, or of the git folder. */
  readonly path: string;
  readonly bytes: number;
  /** The content that only git has: in the index, in a stash, in commits. Paths start at `top`. */
  readonly contents?: { readonly top: string; readonly blobs: readonly GitContent[] };
  /** True if the line names this very file. */
  readonly isNamed?: boolean;
}

/** Maximum number of aliases that are followed, because one may name itself. */
const MAX_LINES = 5;
/** With more folders than this, one question to git covers the whole repository. */
const MAX_PATHSPECS = 20;
/** Maximum number of names from `xargs` that are judged. */
const MAX_FED = 500;

/** The content that earlier commands of the line have saved in a repository. */
interface Saved {
  added?: 'all' | 'tracked';
  /** True if the line has put other content into the index while nothing held the present one. */
  isRestaged?: boolean;
  /** Content that a commit or a stash of the line holds. */
  held?: 'staged' | 'tracked' | 'all';
  /** The stash that the line has made. */
  pushed?: Extract<Sweep, { kind: 'push' }>;
  /** True if the line has brought back a stash that it did not make. */
  isPopped?: boolean;
  /** True if the line has moved a branch away from commits, so that only git's logs still name them. */
  isRewritten?: boolean;
}

type Tracked = Extract<Sweep, { kind: 'tracked' }>;

interface ThreatsOptions {
  readonly cwd: string;
  /** `inside`: the workspace and the other worktrees of its repositories. `outside`: everything else that lasts. */
  readonly where: 'inside' | 'outside';
  readonly signal: AbortSignal;
}

/** Finds out what a line would destroy inside or outside the workspace. Changes nothing. */
export class Threats {
  readonly #world: World;
  readonly #cwd: string;
  readonly #where: ThreatsOptions['where'];
  readonly #signal: AbortSignal;
  readonly #isPassing = passingTest();
  readonly #isOutput: (relative: string) => boolean;
  readonly #found = new Map<string, Threat>();
  readonly #saved = new Map<string, Saved>();
  #lines = 0;

  constructor(world: World, { cwd, where, signal }: ThreatsOptions) {
    this.#world = world;
    this.#isOutput = outputTest(world);
    this.#cwd = cwd;
    this.#where = where;
    this.#signal = signal;
  }

  /** `named`: absolute paths of files that the line itself says it would destroy. */
  async of(sweeps: readonly Sweep[], named: readonly string[] = []): Promise<readonly Threat[]> {
    for (const path of named) this.#file(path, 'at-work');
    for (const sweep of sweeps) {
      const folder = realFolder(resolve(this.#cwd, sweep.folder));
      if (sweep.kind === 'removal' || this.#isInReach(folder)) await this.#sweep({ ...sweep, folder });
    }
    for (const { pushed } of this.#saved.values())
      if (pushed !== undefined) await this.#stashedAway(pushed, 'at-work');
    return [...this.#found.values()];
  }

  async #sweep(sweep: Sweep): Promise<void> {
    const { folder } = sweep;
    switch (sweep.kind) {
      case 'tracked':
        return this.#tracked(sweep);
      case 'clean':
        return this.#clean(folder, sweep.args);
      case 'removal':
        return this.#removed(await this.#world.processes.namesOf(sweep.files, this.#cwd), sweep.of);
      case 'worktree':
        return this.#removed([sweep.path], 'trees');
      case 'stash':
        return this.#stash(folder, sweep.entry);
      case 'refs':
        return this.#refs(sweep);
      case 'history':
        return this.#expired(sweep);
      case 'add':
      case 'commit':
      case 'push':
      case 'pop':
      case 'rewrite':
        return this.#save(sweep);
      case 'alias':
        return this.#aliased(sweep);
      case 'fed': {
        const names = (await listedNames(sweep.names, this.#cwd)).slice(0, MAX_FED);
        const words = sweep.words.flatMap((word) => (word === EACH ? names : [word]));
        return names.length === 0 ? undefined : this.#line(words.map(quoted).join(' '), folder);
      }
      default:
        return sweep satisfies never;
    }
  }

  async #expired({ folder, how }: Extract<Sweep, { kind: 'history' }>): Promise<void> {
    if (how === 'prune') this.#pruned();
    const dropsRewritten = how === 'expire' && this.#savedIn(folder).isRewritten === true;
    if (dropsRewritten || (await hasHistory(folder, how, this.#signal))) this.#history(folder);
  }

  /** Marks content of git that the line has dropped before. Its objects go too, so nothing can be restored. */
  #pruned(): void {
    for (const [id, threat] of this.#found)
      if (threat.contents !== undefined) this.#found.set(id, { ...threat, why: 'pruned' });
  }

  async #aliased({ folder, name, args }: Extract<Sweep, { kind: 'alias' }>): Promise<void> {
    const text = await aliasOf(folder, name, this.#signal);
    if (text === undefined) return;
    const words = args.map(quoted).join(' ');
    // Git runs a shell command at the top of the repository.
    if (text.startsWith('!')) await this.#line(`${text.slice(1)} ${words}`, repositoryTop(folder));
    else await this.#line(`git ${text} ${words}`, folder);
  }

  /** Adds what another line would destroy, which a command of this one runs. */
  async #line(text: string, folder: string): Promise<void> {
    this.#lines += 1;
    const line = this.#lines > MAX_LINES ? 'too deep' : parsedLine(text, { folder });
    for (const sweep of line === 'too deep' ? [] : line.sweeps())
      await this.#sweep({ ...sweep, folder: realFolder(resolve(this.#cwd, sweep.folder)) });
  }

  #savedIn(folder: string): Saved {
    const top = repositoryTop(folder);
    const saved = this.#saved.get(top) ?? {};
    this.#saved.set(top, saved);
    return saved;
  }

  #save(sweep: Extract<Sweep, { kind: 'add' | 'commit' | 'push' | 'pop' | 'rewrite' }>): void {
    const saved = this.#savedIn(sweep.folder);
    switch (sweep.kind) {
      case 'rewrite':
        saved.isRewritten = true;
        return;
      case 'add':
        restage(saved, sweep.files);
        return;
      case 'commit':
        if (sweep.files === 'tracked') restage(saved, saved.added ?? 'tracked');
        saved.held = saved.added ?? 'staged';
        return;
      case 'push':
        saved.pushed = sweep;
        if (sweep.paths.length === 0)
          saved.held = sweep.untracked || saved.added === 'all' ? 'all' : 'tracked';
        return;
      case 'pop':
        if (saved.pushed === undefined) saved.isPopped = true;
        else delete saved.held;
        delete saved.pushed;
        return;
      default:
        sweep satisfies never;
    }
  }

  async #tracked(sweep: Tracked): Promise<void> {
    const { folder, takes, paths, tree } = sweep;
    const saved = this.#savedIn(folder);
    const isHeld = saved.held === 'tracked' || saved.held === 'all';
    if (isHeld && saved.isRestaged !== true) return;
    if (saved.isPopped && takes !== 'staged' && !isHeld) await this.#stash(folder, 0);
    if (tree === undefined) return this.#differences(sweep, saved);
    if (paths.length === 0) saved.isRewritten = true;
    const target = await filesIn(folder, tree, this.#signal);
    if (target === undefined) return;
    await this.#differences(sweep, saved, target);
    if (paths.length === 0) await this.#ignoredIn(target, repositoryTop(folder));
  }

  async #differences(sweep: Tracked, saved: Saved, target?: ReadonlySet<string>): Promise<void> {
    const { folder, takes, paths } = sweep;
    const isWhole = paths.length === 0;
    const isAdded = isWhole && takes === 'both' && saved.added === 'all';
    const others = target !== undefined || isAdded ? 'untracked' : 'no';
    for (const entry of await statusOf(folder, { paths, others, signal: this.#signal })) {
      const isTaken = entry.index === '?' ? isAdded : target === undefined || isWhole;
      if (isTaken || target?.has(entry.path) === true) this.#differing(sweep, entry, saved);
    }
  }

  #differing({ folder, takes, paths }: Tracked, entry: GitStatus, saved: Saved): void {
    const path = resolve(repositoryTop(folder), entry.path);
    const isNamed = paths.some((name) => resolve(folder, name) === path);
    if (losesFile(entry, takes, saved)) this.#file(path, reasonFor(entry), { isNamed });
    if (takes !== 'files' && losesStaged(entry, saved)) this.#staged(path, entry, { isNamed });
  }

  #staged(path: string, entry: GitStatus, by: Pick<Threat, 'isNamed'> = {}): void {
    const contents = onlyGitHas(repositoryTop(dirname(path)), [{ path: entry.path, blob: entry.blob }]);
    this.#add({ kind: 'index', path, why: 'staged', ...contents, ...by });
  }

  /** The ignored files that the files of another commit replace. */
  async #ignoredIn(target: ReadonlySet<string>, top: string): Promise<void> {
    const present = await filesIn(top, 'HEAD', this.#signal);
    const added = [...target].filter((name) => name !== '' && present?.has(name) !== true);
    const there = added.filter((name) => entryAt(resolve(top, name))?.kind === 'file');
    for (const name of await ignoredByGit(top, there)) this.#file(resolve(top, name), 'ignored');
  }

  async #clean(folder: string, args: readonly string[]): Promise<void> {
    const { added, held } = this.#savedIn(folder);
    const takesIgnored = args.some((arg) => /^-[a-zA-Z]*[xX]/.test(arg));
    const isSaved = added === 'all' || held === 'all';
    if (!takesIgnored && isSaved) return;
    const names = await cleanedBy(folder, args, this.#signal);
    const ignored = takesIgnored ? await ignoredByGit(folder, names) : new Set<string>();
    for (const name of names) {
      const path = resolve(folder, name);
      const reason = ignored.has(name) ? 'ignored' : 'untracked';
      if (reason === 'untracked' && isSaved) continue;
      if (name.endsWith('/')) await this.#folder(path, reason);
      else this.#file(path, reason);
    }
  }

  async #removed(names: readonly string[], of: 'files' | 'trees'): Promise<void> {
    const folders: string[] = [];
    for (const name of names) {
      const path = resolve(this.#cwd, name);
      const inGit = /^(.*?)\/\.git(?:\/(.*))?$/.exec(path);
      // Files that a line names are judged one by one.
      if (inGit === null && of === 'files') continue;
      const entry = entryAt(path);
      if (entry !== undefined && inGit !== null)
        await this.#gitFile(realFolder(inGit[1] ?? ''), inGit[2] ?? '');
      else if (entry?.kind === 'folder' && of === 'trees') folders.push(realFolder(path));
    }
    const { roots } = this.#world.workspace;
    const within = (folder: string) => roots.filter((root) => isWithin(root, folder));
    const inReach = folders.filter((folder) => this.#isInReach(folder));
    await this.#goneFolders(new Set([...folders.flatMap(within), ...inReach]));
  }

  /** Folders that go with everything in them. One question to git covers all in one repository. */
  async #goneFolders(folders: Iterable<string>): Promise<void> {
    const byTop = new Map<string, string[]>();
    for (const folder of folders) {
      const top = repositoryAround(folder);
      if (top === undefined) await this.#folder(folder, 'no-repository');
      else byTop.set(top, [...(byTop.get(top) ?? []), folder]);
      if (top === folder) await this.#top(folder);
    }
    for (const [top, inTop] of byTop) await this.#goneIn(top, inTop);
  }

  async #goneIn(top: string, folders: readonly string[]): Promise<void> {
    const takesIndex = folders.includes(top);
    for (const entry of await this.#statusBelow(top, folders)) {
      const path = resolve(top, entry.path);
      if (entry.path.endsWith('/')) await this.#folder(path, entry.index === '!' ? 'ignored' : 'untracked');
      else if (takesIndex || reasonFor(entry) !== 'staged') this.#file(path, reasonFor(entry));
    }
  }

  async #statusBelow(top: string, folders: readonly string[]): Promise<readonly GitStatus[]> {
    const options = { others: 'ignored', signal: this.#signal } as const;
    // Without a path after it, the magic matches everything.
    if (folders.length <= MAX_PATHSPECS) {
      const paths = folders.map((folder) => `:(top,literal)${relative(top, folder)}`);
      return statusOf(top, { ...options, paths });
    }
    // Git would compare each file with each path.
    const all = await statusOf(top, { ...options, paths: [] });
    return all.filter(({ path }) => folders.some((folder) => isWithin(resolve(top, path), folder)));
  }

  /** The repository or worktree that begins at a folder and goes with it. */
  async #top(folder: string): Promise<void> {
    if (commonGitFolder(folder) !== undefined) {
      if (await detachedOnly(folder, this.#signal))
        this.#add({ kind: 'worktree', path: `${folder}/.git`, why: 'unreachable', bytes: 0 });
      return;
    }
    if (isMainWorktree(folder)) await this.#gitFolder(folder, { takesFiles: true });
  }

  /** A folder without tracked files. */
  async #folder(folder: string, reason: 'untracked' | 'ignored' | 'no-repository'): Promise<void> {
    if (this.#isMade(folder)) return;
    if (repositoryAround(folder) === folder) return this.#goneFolders([folder]);
    for (const path of pathsBelow(folder, (each) => this.#isMade(each)))
      if (entryAt(path)?.kind === 'folder') await this.#goneFolders([path]);
      else this.#file(path, reason);
  }

  /** A file in the git folder of a repository, or the whole git folder. */
  async #gitFile(top: string, name: string): Promise<void> {
    if (!this.#isInReach(top) || !isMainWorktree(top)) return;
    const ref = /^refs\/(?:heads|tags)\/./.test(name) ? name : undefined;
    if (name === 'index') return this.#tracked({ kind: 'tracked', folder: top, takes: 'staged', paths: [] });
    if (/^(?:logs\/)?refs\/stash$/.test(name)) return this.#stash(top, 'all');
    if (ref !== undefined) return this.#refs({ folder: top, refs: [ref] });
    if (name !== '' && !/^(?:objects|refs|packed-refs$|HEAD$|logs$)/.test(name)) return;
    return this.#gitFolder(top, {});
  }

  async #gitFolder(top: string, takes: Pick<Dropped, 'takesFiles'>): Promise<void> {
    const isOurs = this.#tops().some((root) => repositoryAround(root) === top);
    if (isOurs) return this.#history(top);
    const dropped = { commits: ['--all'], keep: ['--remotes'], ...takes };
    if ((await this.#onlyIn(top, dropped)).length === 0) return;
    const path = `${top}/.git`;
    const sizes = entriesOf({ folder: path, entries: 'all' })?.map((each) => entryAt(each)?.size ?? 0);
    const isLarge = sizes === undefined || sizes.some((size) => size > MAX_FILE_BYTES);
    const bytes = isLarge ? Number.POSITIVE_INFINITY : sizes.reduce((sum, size) => sum + size, 0);
    this.#add({ kind: 'repository', path, why: 'nested', bytes });
  }

  #history(folder: string): void {
    const path = gitFolderOf(folder) ?? `${folder}/.git`;
    this.#add({ kind: 'repository', path, why: 'history', bytes: 0 });
  }

  async #stash(folder: string, which: number | 'all'): Promise<void> {
    const saved = this.#savedIn(folder);
    const { pushed } = saved;
    if (pushed !== undefined && (which === 'all' || which === 0)) {
      delete saved.pushed;
      delete saved.held;
      const made = await this.#stashedAway(pushed);
      if (which === 0 && made) return;
    }
    const all = stashesIn(folder);
    const dropped = all.flatMap((stash, at): [number, LoggedRef][] =>
      which === 'all' || which === at ? [[at, stash]] : [],
    );
    for (const [at, { hash }] of dropped) {
      const keep = all.flatMap((each, other) => (which === 'all' || other === at ? [] : each.hash));
      const lost = await this.#onlyIn(folder, { commits: [hash], keep, without: ['refs/stash'] });
      if (lost.length === 0) continue;
      const path = `${gitFolderOf(folder)}/refs/stash`;
      const what = this.#inRepository(`stash@{${at}}`, folder);
      this.#add({ kind: 'stash', path, what, why: 'stashed', ...onlyGitHas(repositoryTop(folder), lost) });
    }
  }

  /** Adds the files that a stash of this line takes. False if there is nothing to stash: git then makes no stash. */
  async #stashedAway(
    { folder, paths, untracked }: Extract<Sweep, { kind: 'push' }>,
    reason?: 'at-work',
  ): Promise<boolean> {
    const others = untracked ? 'untracked' : 'no';
    const entries = await statusOf(folder, { paths, others, signal: this.#signal });
    for (const entry of entries) {
      const why = reason ?? reasonFor(entry);
      const path = resolve(repositoryTop(folder), entry.path);
      if (entry.index !== 'D' && entry.file !== 'D') this.#file(path, why);
      if (reason === undefined && isOnlyStaged(entry)) this.#staged(path, entry);
    }
    return entries.length > 0;
  }

  async #refs({
    folder,
    refs,
    onto,
  }: Pick<Extract<Sweep, { kind: 'refs' }>, 'folder' | 'refs' | 'onto'>): Promise<void> {
    const next = onto === undefined ? undefined : await commitOf(folder, onto, this.#signal);
    for (const ref of refs) {
      const hash = await commitOf(folder, ref, this.#signal);
      if (hash === undefined) continue;
      const dropped = { commits: [hash], without: refs, keep: next === undefined ? [] : [next] };
      const lost = await this.#onlyIn(folder, dropped);
      if (lost.length === 0) continue;
      const what = this.#inRepository(ref.replace(/^refs\/(?:heads|tags)\//, ''), folder);
      const path = `${gitFolderOf(folder)}/${ref}`;
      this.#add({ kind: 'ref', path, what, why: 'unreachable', ...onlyGitHas(repositoryTop(folder), lost) });
    }
  }

  #inRepository(name: string, folder: string): string {
    return this.#where === 'inside' ? name : `${name} of ${repositoryTop(folder)}`;
  }

  #onlyIn(folder: string, dropped: Dropped): Promise<readonly GitContent[]> {
    return onlyIn(folder, dropped, { facts: this.#world.processes.gitFacts, signal: this.#signal });
  }

  #file(path: string, why: OnlyCopy, by: Pick<Threat, 'isNamed'> = {}): void {
    const entry = entryAt(path);
    if (entry?.kind !== 'file' || entry.size === 0) return;
    const isUntracked = why === 'untracked' || why === 'ignored' || why === 'no-repository';
    if (isUntracked && this.#isMade(path)) return;
    this.#add({ kind: 'file', path, why, bytes: entry.size, ...by });
  }

  #add(threat: Omit<Threat, 'what'> & { readonly what?: string }): void {
    const { path, kind, what = '' } = threat;
    if (!this.#isInReach(this.#where === 'inside' ? dirname(path) : path)) return;
    const id = `${kind} ${path} ${what}`;
    if (!this.#found.has(id)) this.#found.set(id, { what: this.#nameOf(path), ...threat });
  }

  /** The path as the session is shown it. A worktree outside the workspace is named from the first root. */
  #nameOf(path: string): string {
    if (this.#where === 'outside') return path;
    const { workspace } = this.#world;
    const [first = ''] = workspace.roots;
    const named = workspace.roots.some((root) => isWithin(path, root)) ? workspace.pathOf(path) : undefined;
    return named === undefined ? relative(first, path) : workspace.shownAt(named);
  }

  /** True for what builds make again. Outside the workspace, only caches count as such. */
  #isMade(path: string): boolean {
    if (this.#where === 'outside') return this.#isPassing(path);
    const top = this.#tops().find((each) => isWithin(path, each)) ?? dirname(path);
    return isWithin(path, this.#world.home) || this.#isOutput(relative(top, path) || basename(path));
  }

  #tops(): readonly string[] {
    return [...this.#world.workspace.roots, ...this.#world.claims.worktrees.tops()];
  }

  #isInReach(path: string): boolean {
    const isInside = this.#tops().some((top) => isWithin(path, top));
    return this.#where === 'inside' ? isInside : !isInside && !this.#isPassing(path);
  }
}

/** A word as the shell takes it literally. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function restage(saved: Saved, files: 'all' | 'tracked'): void {
  if (saved.held === undefined) saved.isRestaged = true;
  saved.added = files;
}

/** The part of a threat that only git has. Its objects are kept by keeping what leads to them. */
function onlyGitHas(top: string, blobs: readonly GitContent[]): Pick<Threat, 'bytes' | 'contents'> {
  return { bytes: 0, contents: { top, blobs } };
}

function reasonFor({ index, file }: GitStatus): 'untracked' | 'ignored' | 'uncommitted' | 'staged' {
  if (index === '?') return 'untracked';
  if (index === '!') return 'ignored';
  return file === '.' ? 'staged' : 'uncommitted';
}

/** True if a sweep takes the content of a tracked file itself. */
function losesFile(
  { index, file }: GitStatus,
  takes: Tracked['takes'],
  { added, held }: Pick<Saved, 'added' | 'held'>,
): boolean {
  if (takes === 'staged' || file === 'D' || (index === 'D' && file === '.')) return false;
  // After `git add`, the index has the content of the file.
  const differs = file !== '.' && added === undefined;
  return takes === 'both' ? held === undefined || differs : differs;
}

/** True if content is in the index, and neither in the file nor in the last commit. */
function isOnlyStaged({ index, file, blob }: GitStatus): boolean {
  return index !== '.' && index !== '?' && index !== 'D' && file !== '.' && blob !== '';
}

/** True if a sweep of the index, or the line before it, takes content that only the index has. */
function losesStaged(entry: GitStatus, { isRestaged, held }: Pick<Saved, 'isRestaged' | 'held'>): boolean {
  return isOnlyStaged(entry) && (isRestaged === true || held === undefined);
}
