import { byPath, type Delta, lastAt, type State, sameContent } from '../model/delta.ts';
import { type ChangeEntry, deltasOf, type Entry } from '../model/entry.ts';
import { unlessStoreFails } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import type { GitCopies } from '../process/git-copies.ts';
import type { Store } from '../store/store.ts';
import type { World } from './world.ts';

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
  readonly copies: GitCopies;
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
  const { own, copies } = context;
  const family = await familyOf(world.store, own);
  let version = before;
  for (const [entry, delta] of await changesOf(world, { key, before, change, beforeSeq })) {
    // A newer change of other content has been taken back since.
    if (!sameContent(delta.after, version)) continue;
    if ((await familyOf(world.store, entry.session)) !== family) return entry.session;
    const source = movedFrom(entry, delta);
    if (source !== undefined) return authorOfMoved(world, { ...source, beforeSeq: entry.seq }, context);
    version = delta.before;
    if (version.kind === 'absent' || (await isCheckedOut(world, copies, version))) return own;
  }
  // The session has changed a text that it did not write. If a line of that text was left, it is lost now.
  if (version === before) return undefined;
  const [older, newer] = [await keptBytes(world, version), bytes ?? (await keptBytes(world, before))];
  return older === undefined || newer === undefined || sharesLines(older, newer) ? undefined : own;
}

async function isCheckedOut(world: World, copies: GitCopies, side: State): Promise<boolean> {
  const bytes = await keptBytes(world, side);
  return bytes !== undefined && copies.isCheckedOut(bytes);
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
  const { moves = 0, copies, own } = context;
  if (await isCheckedOut(world, copies, source.before)) return own;
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
