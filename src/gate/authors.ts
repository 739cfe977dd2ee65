import { byPath, type Delta, lastAt, type State, sameContent } from '../model/delta.ts';
import { type ChangeEntry, deltasOf, type Entry } from '../model/entry.ts';
import { unlessStoreFails } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import { gitFolderOf, repositoryAround } from '../process/git.ts';
import { blobOf, blobsIn, checkedOut, heldContents } from '../process/git-refs.ts';
import type { Store } from '../store/store.ts';
import type { World } from './world.ts';

/** Searches git for copies of contents. A file with a copy in git can be removed without loss. */
export class HeldContents {
  readonly #world: World;
  readonly #signal: AbortSignal;
  readonly #folders: readonly string[];
  readonly #more: ReadonlySet<string>;
  #committed: Promise<ReadonlySet<string>> | undefined;

  /** `folders`: folders in further repositories to search. `more`: blob ids that also count as committed. */
  constructor(
    world: World,
    {
      signal,
      folders = [],
      more = new Set(),
    }: { signal: AbortSignal; folders?: readonly string[]; more?: ReadonlySet<string> },
  ) {
    this.#world = world;
    this.#signal = signal;
    // Worktrees of one repository share its git folder.
    const tops = new Map<string, string>();
    for (const folder of [...world.workspace.roots, ...folders]) {
      const [own, top] = [gitFolderOf(folder), repositoryAround(folder)];
      if (own !== undefined && top !== undefined) tops.set(own, top);
    }
    this.#folders = [...tops.values()];
    this.#more = more;
  }

  /** True if a commit that is checked out has these bytes. */
  async isCommitted(bytes: Uint8Array): Promise<boolean> {
    const committed = await this.#checkedOut();
    return gitNames(bytes).some((name) => committed.has(name) || this.#more.has(name));
  }

  async hasKept(side: State): Promise<boolean> {
    const bytes = await keptBytes(this.#world, side);
    return bytes !== undefined && this.isCommitted(bytes);
  }

  /** Finds which of these blobs references or stashes contain. The value `stash`: only a stash does. */
  async held(names: readonly string[]): Promise<ReadonlyMap<string, 'commit' | 'stash'>> {
    const found = new Map<string, 'commit' | 'stash'>();
    if (names.length > 0)
      for (const folder of this.#folders)
        for (const [name, by] of await heldContents(folder, names, this.#signal))
          if (by === 'commit' || !found.has(name)) found.set(name, by);
    return found;
  }

  #checkedOut(): Promise<ReadonlySet<string>> {
    this.#committed ??= this.#listed();
    return this.#committed;
  }

  async #listed(): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const folder of this.#folders)
      for (const name of await blobsIn(folder, checkedOut(folder), this.#signal)) found.add(name);
    return found;
  }
}

/** An object id of each kind of repository: SHA-1 and SHA-256. */
const KINDS = ['0'.repeat(40), '0'.repeat(64)];

/** The blob ids that git may give to these bytes. */
export function gitNames(bytes: Uint8Array): readonly string[] {
  return storedForms(bytes).flatMap((form) => KINDS.map((like) => blobOf(form, like)));
}

/** The forms in which git may store a file: with its own line endings, or with LF. */
function storedForms(bytes: Uint8Array): readonly Uint8Array[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.includes('\r\n')) return [bytes];
  return [bytes, Buffer.from(buffer.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')];
}

/** Number of changes of a file to follow back in time. */
const MAX_CHANGES = 50;
/** Maximum number of moves, or of parents of a session, to follow. */
const MAX_FOLLOWED = 10;

/** Content of a file whose author is wanted. */
interface Content extends Pick<Delta, 'key' | 'before'> {
  /** The bytes, if they may not be kept. */
  readonly bytes?: Uint8Array | undefined;
  /** The change before which the file had this content. */
  readonly change?: string | undefined;
  readonly beforeSeq?: number | undefined;
}

interface AuthorContext {
  /** The session that asks. Sessions of its family count as this one. */
  readonly own: string;
  readonly held: HeldContents;
  readonly moves?: number;
}

/** Matches a command that puts a stash into the files: their text is older than the command. */
const UNSTASHES = /\bstash\s+(?:pop|apply|branch)\b/;

/**
 * The session whose uncommitted work this content of a file is. Prefers a session of another family
 * to the one that asks. Undefined for text that no recorded change wrote.
 */
export async function authorOf(
  world: World,
  { key, before, bytes, change, beforeSeq }: Content,
  context: AuthorContext,
): Promise<string | undefined> {
  const { own, held } = context;
  const family = await familyOf(world.store, own);
  let version = before;
  for (const [entry, delta] of await changesOf(world, { key, before, change, beforeSeq })) {
    // A newer change of other content has been taken back since.
    if (!sameContent(delta.after, version)) continue;
    if ((await familyOf(world.store, entry.session)) !== family) return entry.session;
    const source = movedFrom(entry, delta);
    if (source !== undefined) return authorOfMoved(world, { ...source, beforeSeq: entry.seq }, context);
    version = delta.before;
    if (version.kind === 'absent' || (await held.hasKept(version))) return own;
  }
  // The session has changed a text that it did not write. If a line of that text was left, it is lost now.
  if (version === before) return undefined;
  const [older, newer] = [await keptBytes(world, version), bytes ?? (await keptBytes(world, before))];
  return older === undefined || newer === undefined || sharesLines(older, newer) ? undefined : own;
}

/** The changes of a file, newest first. Leaves out those that only put a stash back. */
async function changesOf(
  { store }: World,
  { key, change, beforeSeq }: Content,
): Promise<readonly (readonly [ChangeEntry, Delta])[]> {
  const entries = await store.entries({ key, beforeSeq, kinds: ['change'], limit: MAX_CHANGES });
  return entries.flatMap((entry): [ChangeEntry, Delta][] => {
    const delta = lastAt(entry.deltas, key);
    const isOther = entry.change !== change && !UNSTASHES.test(entry.text ?? '');
    return delta !== undefined && isOther ? [[entry, delta]] : [];
  });
}

async function authorOfMoved(
  world: World,
  source: Content,
  context: AuthorContext,
): Promise<string | undefined> {
  const { moves = 0, held, own } = context;
  if (await held.hasKept(source.before)) return own;
  return moves < MAX_FOLLOWED ? authorOf(world, source, { ...context, moves: moves + 1 }) : undefined;
}

/** The file that a change moved to a path where nothing was. */
function movedFrom({ deltas }: ChangeEntry, { key, before, after }: Delta): Delta | undefined {
  if (before.kind !== 'absent' || after.kind !== 'file' || after.fingerprint.size === 0) return undefined;
  return byPath(deltas).find(
    (other) =>
      other.key !== key && sameContent(other.before, after) && !sameContent(other.after, other.before),
  );
}

interface MadeBy {
  readonly own: string;
  /** A change to leave out. */
  readonly change?: string;
}

/**
 * True if a session, or another session of its conversation, created this repository and its folder
 * below the roots. Files in it that the journal does not mention then count as that session's work.
 */
export async function isOwnRepository(world: World, top: string, by: MadeBy): Promise<boolean> {
  if (world.workspace.roots.some((root) => isWithin(root, top))) return false;
  const how = await madeAt(world, top, by);
  return how === 'notice' || (how === 'change' && (await madeAt(world, `${top}/.git/HEAD`, by)) === 'change');
}

/** The kind of the entry with which the session created a path. Undefined if another session changed the path since. */
async function madeAt(
  world: World,
  key: string,
  { own, change }: MadeBy,
): Promise<Entry['kind'] | undefined> {
  const family = await familyOf(world.store, own);
  for (const entry of await world.store.entries({ key, kinds: ['change', 'notice'], limit: MAX_CHANGES })) {
    if (change !== undefined && entry.change === change) continue;
    const delta = lastAt(deltasOf(entry), key);
    if ((await familyOf(world.store, entry.session)) !== family || delta?.after.kind === 'absent')
      return undefined;
    if (entry.kind === 'notice' || delta?.before.kind === 'absent') return entry.kind;
  }
  return undefined;
}

/**
 * The conversation to which a session belongs, with its sub-agents, its copies and what it was
 * copied from.
 */
async function familyOf(store: Pick<Store, 'session'>, session: string): Promise<string> {
  let root = session;
  for (let step = 0; step < MAX_FOLLOWED; step += 1) {
    root = root.split('/', 1)[0] ?? root;
    const parent = (await store.session(root))?.parent;
    if (parent === undefined) break;
    root = parent;
  }
  return root;
}

/** The bytes of an earlier state; undefined if they are not kept. */
export async function keptBytes({ images }: World, side: State): Promise<Uint8Array | undefined> {
  if (side.kind !== 'file' || !side.kept) return undefined;
  return unlessStoreFails(
    () => images.read(side.fingerprint),
    () => undefined,
  );
}

function sharesLines(one: Uint8Array, other: Uint8Array): boolean {
  const lines = new Set(filledLines(one));
  return filledLines(other).some((line) => lines.has(line));
}

/** The lines of a text that are not empty. */
export function filledLines(bytes: Uint8Array): readonly string[] {
  const text = Buffer.from(bytes).toString('latin1');
  return text.split('\n').flatMap((line) => line.trim() || []);
}
