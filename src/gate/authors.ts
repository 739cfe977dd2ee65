import { type Effect, type Entry, type NewEntry, type State, sameContent } from '../model/entry.ts';
import { unlessStoreFails } from '../model/fault.ts';
import { worktreesAround } from '../process/git.ts';
import { blobOf, blobsIn } from '../process/git-refs.ts';
import type { Store } from '../store/store.ts';
import type { World } from './world.ts';

/** Knows which files commits have. */
export class CommittedFiles {
  readonly #world: World;
  readonly #blobs: ReadonlySet<string>;

  private constructor(world: World, blobs: ReadonlySet<string>) {
    this.#world = world;
    this.#blobs = blobs;
  }

  /** The files of the commits that are checked out now, and `more`: git's hashes of further files. */
  static async now(world: World, signal: AbortSignal, more?: ReadonlySet<string>): Promise<CommittedFiles> {
    const found = new Set(more);
    for (const root of world.workspace.roots)
      for (const top of worktreesAround(root))
        for (const blob of await blobsIn(top, ['HEAD'], signal)) found.add(blob);
    return new CommittedFiles(world, found);
  }

  has(bytes: Uint8Array): boolean {
    const [like] = this.#blobs;
    return like !== undefined && storedForms(bytes).some((form) => this.#blobs.has(blobOf(form, like)));
  }

  async hasKept(side: State): Promise<boolean> {
    const bytes = await keptBytes(this.#world, side);
    return bytes !== undefined && this.has(bytes);
  }
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
interface Content extends Pick<Effect, 'key' | 'before'> {
  /** The bytes, if they may not be kept. */
  readonly bytes?: Uint8Array | undefined;
  /** The change before which the file had this content. */
  readonly change?: string | undefined;
  readonly beforeSeq?: number | undefined;
}

interface AuthorContext {
  /** The session that asks. Sessions of its family count as this one. */
  readonly own: string;
  readonly committed: CommittedFiles;
  readonly moves?: number;
}

/** Matches a command that puts a stash into the files: their text is older than the command. */
const UNSTASHES = /\bstash\s+(?:pop|apply|branch)\b/;

/**
 * The session whose uncommitted work is content of a file: one of another family, or else the one
 * that asks. Undefined for text that no recorded change wrote.
 */
export async function authorOf(
  world: World,
  { key, before, bytes, change, beforeSeq }: Content,
  context: AuthorContext,
): Promise<string | undefined> {
  const { own, committed } = context;
  const family = await familyOf(world.store, own);
  let version = before;
  for (const [entry, effect] of await changesOf(world, { key, before, change, beforeSeq })) {
    // A newer change of other content has been taken back since.
    if (!sameContent(effect.after, version)) continue;
    if ((await familyOf(world.store, entry.session)) !== family) return entry.session;
    const source = movedFrom(entry, effect);
    if (source !== undefined) return authorOfMoved(world, { ...source, beforeSeq: entry.seq }, context);
    version = effect.before;
    if (version.kind === 'absent' || (await committed.hasKept(version))) return own;
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
): Promise<readonly (readonly [Entry, Effect])[]> {
  const entries = await store.entries({ key, beforeSeq, kinds: ['change'], limit: MAX_CHANGES });
  return entries.flatMap((entry): [Entry, Effect][] => {
    const effect = entry.effects?.findLast((each) => each.key === key);
    const isOther = entry.change !== change && !UNSTASHES.test(entry.text ?? '');
    return effect !== undefined && isOther ? [[entry, effect]] : [];
  });
}

async function authorOfMoved(
  world: World,
  source: Content,
  context: AuthorContext,
): Promise<string | undefined> {
  const { moves = 0, committed, own } = context;
  if (await committed.hasKept(source.before)) return own;
  return moves < MAX_FOLLOWED ? authorOf(world, source, { ...context, moves: moves + 1 }) : undefined;
}

/** The file that a change moved to a path where nothing was. */
function movedFrom({ effects = [] }: NewEntry, { key, before, after }: Effect): Effect | undefined {
  if (before.kind !== 'absent' || after.kind !== 'file' || after.fingerprint.size === 0) return undefined;
  return effects.find(
    (other) =>
      other.key !== key && sameContent(other.before, after) && !sameContent(other.after, other.before),
  );
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
  return unlessStoreFails<Uint8Array | undefined>(
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
