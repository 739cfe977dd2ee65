import { dirname } from 'node:path';
import { byPath, type Delta, sameContent } from '../model/delta.ts';
import { isBelow } from '../model/path.ts';
import { onlyIn } from '../process/git-copies.ts';
import { readIndexBytes } from '../process/git-index.ts';
import {
  blobOf,
  isHash,
  isUnreachable,
  type LoggedRef,
  loggedRefs,
  packedRefs,
} from '../process/git-refs.ts';
import { statusOf } from '../process/git-status.ts';
import { clip, phrase } from '../report/bounded.ts';
import { readableAt } from './found.ts';
import type { World } from './world.ts';

/** At most this many changed references and stashes are checked. The rest counts as not lost. */
const MAX_CHECKED = 50;
const MAX_MESSAGE_CHARS = 60;

/**
 * A git folder after a command that changed files in it, with the state before. Finds what the
 * command removed from the repository.
 */
export class ChangedGit {
  readonly folder: string;
  readonly #world: World;
  readonly #deltas: ReadonlyMap<string, Delta>;
  readonly #signal: AbortSignal;
  /** The paths of all files that the command changed. */
  readonly #written: ReadonlySet<string>;

  constructor(
    world: World,
    { folder, deltas, signal }: { folder: string; deltas: readonly Delta[]; signal: AbortSignal },
  ) {
    this.folder = folder;
    this.#world = world;
    this.#signal = signal;
    const inside = byPath(deltas).filter(({ key }) => isBelow(key, folder));
    this.#written = new Set(deltas.map(({ key }) => key));
    this.#deltas = new Map(inside.map((delta) => [delta.key.slice(folder.length + 1), delta]));
  }

  /**
   * The commits that were or are checked out, and those to which changed references pointed or
   * point. If the newest stash changed, also its commits: the files, the index, untracked files.
   */
  async commits(): Promise<readonly string[]> {
    const found = new Set<string>();
    const heads = [
      'HEAD',
      ...[...this.#deltas.keys()].filter((name) => /^worktrees\/[^/]+\/HEAD$/.test(name)),
    ];
    for (const name of heads) for (const when of WHEN) found.add((await this.#checkedOut(name, when)) ?? '');
    for (const { before, now } of await this.#changedRefs()) found.add(before).add(now ?? '');
    const stash = this.#deltas.has('refs/stash') ? await this.#text('refs/stash', 'now') : undefined;
    if (stash !== undefined) found.add(stash).add(`${stash}^2`).add(`${stash}^3`);
    found.delete('');
    return [...found];
  }

  /** The contents of `commits`. */
  async #contents(): Promise<ReadonlySet<string>> {
    return this.#world.processes.gitFacts.contentsOf(this.folder, await this.commits(), this.#signal);
  }

  /** The commits, branches, tags and stashes that nothing leads to any more, in words. */
  async lostCommits(command: string): Promise<readonly string[]> {
    const lost: string[] = [];
    for (const { name, before, now } of (await this.#changedRefs()).slice(0, MAX_CHECKED))
      if (await isUnreachable(this.folder, before, this.#signal)) lost.push(refWords(name, before, now));
    const [was, is] = [await this.#text('HEAD', 'before'), await this.#text('HEAD', 'now')];
    if (
      was !== undefined &&
      was !== is &&
      isHash(was) &&
      (await isUnreachable(this.folder, was, this.#signal))
    )
      lost.push(`commit ${was.slice(0, 7)}`);
    for (const { hash, message } of await this.#lostStashes(command))
      lost.push(`stash ${hash.slice(0, 7)} (${clip(phrase(message), MAX_MESSAGE_CHARS)})`);
    return lost;
  }

  /**
   * Paths whose staged content is in no commit, index or file any more. `moved`: those whose file got
   * it from the command, so that an undo of the files must bring back the index, too.
   */
  async lostStaged(
    command: string,
  ): Promise<{ readonly lost: readonly string[]; readonly moved: readonly string[] }> {
    const lost: string[] = [];
    const moved: string[] = [];
    for (const [path, blob] of await this.#unsaved(command)) {
      if (!(await this.#isInFile(path, blob))) lost.push(path);
      else if (this.#written.has(this.#fileAt(path))) moved.push(path);
    }
    return { lost, moved };
  }

  /** The staged content that is in no commit or index any more, with its paths. */
  async #unsaved(command: string): Promise<readonly (readonly [string, string])[]> {
    const found: (readonly [string, string])[] = [];
    for (const [name, delta] of this.#deltas) {
      if (!/^(worktrees\/[^/]+\/)?index$/.test(name) || delta.before.kind !== 'file') continue;
      const staged = await this.#unstaged(name, command);
      if (staged.size === 0) continue;
      const safe = await this.#contents();
      found.push(...[...staged].filter(([, blob]) => !safe.has(blob)));
    }
    return found;
  }

  /** The entries of an index before the command that are neither in the present index nor replaced there. */
  async #unstaged(name: string, command: string): Promise<ReadonlyMap<string, string>> {
    const [was, is] = [await this.#bytes(name, 'before'), await this.#bytes(name, 'now')];
    const before = was && readIndexBytes(was);
    if (before === undefined) return new Map();
    const now = is && readIndexBytes(is);
    const left = new Set([...(now ?? [])].map(([, { blob }]) => blob));
    const gone = [...before].flatMap(([path, { blob }]): [string, string][] =>
      left.has(blob) ? [] : [[path, blob]],
    );
    const heads = gone.length === 0 ? left : await this.#contents();
    return new Map(
      gone.filter(([path, blob]) => {
        const later = now?.get(path)?.blob;
        const isNewer = later !== undefined && !heads.has(later) && !STAGES_OLD.test(command);
        return !heads.has(blob) && !isNewer;
      }),
    );
  }

  #fileAt(path: string): string {
    return `${this.folder.replace(/\/\.git$/, '')}/${path}`;
  }

  async #isInFile(path: string, blob: string): Promise<boolean> {
    const found = await readableAt(this.#world, this.#fileAt(path));
    return found?.snapshot !== undefined && blobOf(found.snapshot.bytes, blob) === blob;
  }

  /** The stashes that are gone. */
  async #lostStashes(command: string): Promise<readonly LoggedRef[]> {
    const log = 'logs/refs/stash';
    if (!this.#deltas.has(log)) return [];
    const kept = new Set(loggedRefs((await this.#text(log, 'now')) ?? '').map(({ hash }) => hash));
    const lost: LoggedRef[] = [];
    for (const each of loggedRefs((await this.#text(log, 'before')) ?? '').slice(-MAX_CHECKED))
      if (!kept.has(each.hash) && (await isUnreachable(this.folder, each.hash, this.#signal)))
        if (!(await this.#isPutBack(each, command))) lost.push(each);
    return lost;
  }

  /** True if `git stash pop` has put the changes of a stash into the files, and nothing took them from there. */
  async #isPutBack({ hash }: LoggedRef, command: string): Promise<boolean> {
    if (!/\bstash\s+(pop|branch)\b/.test(command)) return false;
    const signal = this.#signal;
    const facts = this.#world.processes.gitFacts;
    const only = await onlyIn(this.folder, { commits: [hash], keep: [], without: [] }, { facts, signal });
    const listed = { paths: [], others: 'untracked', signal } as const;
    const entries = await statusOf(dirname(this.folder), listed);
    const here = entries.filter(({ index, file }) => ![index, file].some((each) => /[DU]/.test(each)));
    const changed = new Set(here.map(({ path }) => path));
    return only.every(({ path }) => changed.has(path));
  }

  /** Branches, tags and other references of the user that point to another commit now, or to none. */
  async #changedRefs(): Promise<readonly { name: string; before: string; now: string | undefined }[]> {
    const [was, is] = [await this.#packed('before'), await this.#packed('now')];
    const names = new Set([...this.#deltas.keys()].filter((name) => name.startsWith('refs/')));
    for (const [name, hash] of was) if (is.get(name) !== hash) names.add(name);
    const changed: { name: string; before: string; now: string | undefined }[] = [];
    for (const name of names) {
      if (name === 'refs/stash') continue;
      const before = (await this.#text(name, 'before')) ?? was.get(name);
      const now = (await this.#text(name, 'now')) ?? is.get(name);
      // A fetch moves remote branches to what others have pushed.
      if (name.startsWith('refs/remotes/') && now !== undefined) continue;
      if (before !== undefined && before !== now && isHash(before)) changed.push({ name, before, now });
    }
    return changed;
  }

  async #packed(when: When): Promise<ReadonlyMap<string, string>> {
    return packedRefs((await this.#text('packed-refs', when)) ?? '');
  }

  /** The commit to which a HEAD leads. */
  async #checkedOut(name: string, when: When): Promise<string | undefined> {
    const head = await this.#text(name, when);
    if (head === undefined || isHash(head)) return head;
    const ref = head.slice('ref: '.length);
    return (await this.#text(ref, when)) ?? (await this.#packed(when)).get(ref);
  }

  async #text(name: string, when: When): Promise<string | undefined> {
    return (await this.#bytes(name, when))?.toString('utf8').trim();
  }

  /** The bytes of a file in the git folder, before the command or now. */
  async #bytes(name: string, when: When): Promise<Buffer | undefined> {
    const delta = this.#deltas.get(name);
    const before = delta?.before;
    // A file that was written with the bytes it had is not kept: it still holds them.
    const isSame = delta !== undefined && sameContent(delta.before, delta.after);
    if (when === 'before' && before !== undefined && !isSame)
      return before.kind === 'file' && before.kept
        ? Buffer.from(await this.#world.images.read(before.fingerprint))
        : undefined;
    const found = await readableAt(this.#world, `${this.folder}/${name}`);
    return found?.snapshot === undefined ? undefined : Buffer.from(found.snapshot.bytes);
  }
}

/** Matches lines of git that put the content of a commit into the index. */
const STAGES_OLD = /\bgit\b.*\b(?:checkout|restore|read-tree|reset)\b/s;

type When = 'before' | 'now';
const WHEN: readonly When[] = ['before', 'now'];

function refWords(name: string, before: string, now: string | undefined): string {
  const commit = before.slice(0, 7);
  const short = name.replace(/^refs\/(heads|tags|remotes)\//, '');
  const kind = name.startsWith('refs/tags/') ? 'tag' : 'branch';
  return now === undefined ? `${kind} ${short} (${commit})` : `commit ${commit} of ${kind} ${short}`;
}
