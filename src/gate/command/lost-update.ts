import { readSnapshot } from '../../disk/read.ts';
import type { State } from '../../model/delta.ts';
import { lastAt } from '../../model/delta.ts';
import type { ChangeEntry } from '../../model/entry.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import type { ResolvedPath } from '../../model/path.ts';
import type { RefusalOf } from '../../model/verdict.ts';
import { lastChange } from '../../store/store.ts';
import { decodeText } from '../../text/decode.ts';
import { losesChange } from '../../text/lost-change.ts';
import { maskedDiff } from '../../text/unified.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import type { Located } from '../../workspace/workspace.ts';
import { siblingOf } from '../look.ts';
import { diffOptions } from '../masking.ts';
import type { World } from '../world.ts';
import type { LayerDelta } from './write-set.ts';

/** A file that a command has changed or removed, or is about to change or remove. */
interface Overwritten {
  readonly path: Pick<ResolvedPath, 'key' | 'relative'>;
  readonly before: State;
  readonly after: State;
  /**
   * The bytes before the command. Undefined if the path was not a file, or the file is too large to
   * treat as text.
   */
  beforeBytes(): Promise<Uint8Array | undefined>;
  afterBytes(): Uint8Array | undefined;
}

/**
 * The refusal if a command's result drops another writer's change that the session has not seen.
 * The session's own changes are no reason to refuse.
 */
export async function lostUpdate(
  world: World,
  knowledge: Knowledge,
  written: Overwritten,
): Promise<RefusalOf<'COMMAND_CONFLICT'> | undefined> {
  const { before, path } = written;
  if (before.kind !== 'file') return undefined;
  const known = await knownBytes(world, knowledge, path.key);
  if (known === undefined || sameFingerprint(known.fingerprint, before.fingerprint)) return undefined;
  const base = plainText(await world.baselines.recall(known.fingerprint));
  const live = plainText(await written.beforeBytes());
  if (!drops(written, { base, live, known: known.fingerprint })) return undefined;
  const writer = await siblingOf(world, knowledge.session, { key: path.key, now: before.fingerprint });
  return {
    code: 'COMMAND_CONFLICT',
    action: 'commit',
    path: world.workspace.shownAt(path),
    next: 'read_again',
    detail: {
      reason: "the command's result drops a change that this session has not seen",
      ...(known.atMs === undefined ? {} : { seenAtMs: known.atMs }),
      ...(base === undefined || live === undefined ? {} : { diff: lostDiff(world, path.key, [base, live]) }),
      ...(writer === undefined ? {} : { writer }),
    },
  };
}

/**
 * True if the command removed the file, or if its result lacks the text of the other writer's
 * change. If the texts cannot be compared, true if the result has the bytes that the session knew.
 */
function drops(
  written: Overwritten,
  texts: {
    readonly base: string | undefined;
    readonly live: string | undefined;
    readonly known: Fingerprint;
  },
): boolean {
  const { after } = written;
  if (after.kind !== 'file') return true;
  const result = plainText(written.afterBytes());
  const { base, live, known } = texts;
  if (base === undefined || live === undefined || result === undefined)
    return sameFingerprint(after.fingerprint, known);
  return losesChange(base, live, result);
}

/** The bytes that the session last saw in a file or last wrote to it, or undefined if there are none. */
async function knownBytes(
  world: World,
  knowledge: Knowledge,
  key: string,
): Promise<{ readonly fingerprint: Fingerprint; readonly atMs?: number } | undefined> {
  const sighting = await knowledge.recall(key);
  if (sighting?.fingerprint === undefined || sighting.tombstone === true) return undefined;
  const { fingerprint, atMs } = sighting;
  const own = await lastOwnChange(world, knowledge, { key, sinceMs: atMs });
  const left: State | undefined = lastAt(own?.deltas, key)?.after;
  return left?.kind === 'file' ? { fingerprint: left.fingerprint } : { fingerprint, atMs };
}

/**
 * The session's last change of a file since it saw the file. Other programs may have changed the
 * file after that.
 */
async function lastOwnChange(
  { store }: World,
  { session }: Knowledge,
  { key, sinceMs }: { readonly key: string; readonly sinceMs: number },
): Promise<ChangeEntry | undefined> {
  const last = await lastChange(store, key);
  if (last === undefined || last.atMs < sinceMs) return undefined;
  if (last.session === session) return last;
  const [own] = await store.entries({ session, key, kinds: ['change'], sinceMs, limit: 1 });
  return own;
}

/** The diff of another writer's change, with secrets masked. */
export function lostDiff(world: World, path: string, [before, after]: readonly [string, string]): string {
  return maskedDiff(before, after, diffOptions(world, path)).text;
}

/** Larger files are neither merged nor shown as a diff. */
const MAX_TEXT_BYTES = 2 << 20;

/**
 * The file's present bytes in the workspace. Undefined if the path is not a file, or if the file is
 * too large to treat as text.
 */
export async function bytesBefore(world: World, { path, before }: LayerDelta): Promise<Buffer | undefined> {
  if (before.kind !== 'file' || before.fingerprint.size > MAX_TEXT_BYTES) return undefined;
  return liveBytes(world, path);
}

/**
 * The file's bytes after the command. Undefined if the path is not a file then, or if the file is
 * too large to treat as text.
 */
export function bytesAfter({ after, bytes }: LayerDelta): Buffer | undefined {
  return after.kind !== 'file' || after.fingerprint.size > MAX_TEXT_BYTES ? undefined : bytes?.();
}

/** The file's present bytes in the workspace, whatever its size. Undefined if the path is not a file. */
export async function liveBytes(world: World, path: ResolvedPath): Promise<Buffer | undefined> {
  const read = async ({ exists, place }: Located): Promise<Buffer | undefined> => {
    const snapshot = exists ? await readSnapshot(place, { clock: undefined }) : undefined;
    return snapshot === undefined || 'problem' in snapshot ? undefined : snapshot.bytes;
  };
  const at = { path: path.absolute, action: 'run', links: 'parents' } as const;
  return world.workspace.at(at, read, () => undefined);
}

/**
 * The bytes as text, with their byte order mark. Undefined if they are not UTF-8 text: a merge by
 * lines would damage them.
 */
export function plainText(bytes: Uint8Array | undefined): string | undefined {
  const decoded = bytes === undefined ? undefined : decodeText(bytes);
  if (decoded === undefined || decoded.encoding !== 'utf-8') return undefined;
  return `${decoded.bom ? '\ufeff' : ''}${decoded.text}`;
}
