import { type Effect, type State, sameContent } from '../model/entry.ts';
import { unlessStoreFails } from '../model/fault.ts';
import { blobOf, blobsIn, checkedOut } from '../process/git-reach.ts';
import type { World } from './world.ts';

/** Knows which files commits have. */
export class Committed {
  readonly #world: World;
  readonly #blobs: ReadonlySet<string>;

  private constructor(world: World, blobs: ReadonlySet<string>) {
    this.#world = world;
    this.#blobs = blobs;
  }

  /** The files of the commits that are checked out now, and `more`: git's hashes of further files. */
  static async now(world: World, signal: AbortSignal, more?: ReadonlySet<string>): Promise<Committed> {
    const found = new Set(more);
    for (const root of world.workspace.roots)
      for (const blob of await blobsIn(root, await checkedOut(root, signal), signal)) found.add(blob);
    return new Committed(world, found);
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

/**
 * The session whose uncommitted work a file held before a change: another one than that of the
 * command, or else the command's own. Undefined if the file held text that no recorded change wrote.
 */
export async function authorOf(
  world: World,
  { key, before }: Pick<Effect, 'key' | 'before'>,
  {
    change,
    own,
    committed,
  }: { readonly change: string; readonly own: string; readonly committed: Committed },
): Promise<string | undefined> {
  const entries = await world.store.entries({ key, kinds: ['change'], limit: MAX_CHANGES });
  let version = before;
  for (const { session, effects } of entries.filter((entry) => entry.change !== change)) {
    const effect = effects?.findLast((each) => each.key === key);
    if (effect === undefined || !sameContent(effect.after, version)) break;
    if (rootOf(session) !== rootOf(own)) return session;
    version = effect.before;
    if (version.kind === 'absent' || (await committed.hasKept(version))) return own;
  }
  // The session has changed a text that it did not write. If a line of that text was left, it is lost now.
  if (version === before) return undefined;
  const [older, newer] = [await keptBytes(world, version), await keptBytes(world, before)];
  return older === undefined || newer === undefined || sharesLines(older, newer) ? undefined : own;
}

/** The session that started a session's sub-agents, or the session itself. */
function rootOf(session: string): string {
  return session.split('/', 1)[0] ?? session;
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
  const lines = new Set(linesOf(one));
  return linesOf(other).some((line) => lines.has(line));
}

/** The lines of a text that are not empty. */
export function linesOf(bytes: Uint8Array): readonly string[] {
  const text = Buffer.from(bytes).toString('latin1');
  return text.split('\n').flatMap((line) => line.trim() || []);
}
