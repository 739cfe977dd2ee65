import { type BigIntStats, closeSync, fchmodSync, lstatSync } from 'node:fs';
import { errnoOf, isMissing } from '../model/fault.ts';
import { at, type FileKind, type Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { publishByClaim } from './claim.ts';
import { type Content, type Expected, holds } from './content.ts';
import { changeFailed, type DiskContext, type NativeFiles } from './context.ts';
import { syncFolder, syncsFolders } from './file-system.ts';
import { moveIfFree } from './free-name.ts';
import {
  type Committed,
  committed,
  discardOurs,
  keepOurs,
  letOwnerRead,
  mayHideWrites,
  type NewContent,
  type Publication,
  type Published,
  retain,
  retainBytes,
  retainOrDrop,
} from './publication.ts';
import { isReadOnly, modeOf, openLooked, openRegular, type Unreadable } from './read.ts';
import { bytesOf, settledBytes } from './settled-bytes.ts';
import {
  canBeStaged,
  discard,
  inodeAt,
  openStaged,
  type Staged,
  stageTemp,
  writeTemp,
  writeTempNow,
} from './temp-file.ts';

/**
 * The result if the file was not changed. `retained`: paths of files that were moved aside for a
 * moment and could not be put back, because their names are taken now.
 */
export interface Conflict {
  readonly ok: false;
  readonly reason: 'changed' | 'missing' | 'exists' | 'kind' | 'read-only' | 'denied';
  readonly kind?: FileKind;
  readonly errno?: string;
  readonly retained: readonly string[];
}

/** Errors that the exchange of two names returns on file systems that do not support it. */
export const NO_EXCHANGE: ReadonlySet<string> = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * The maximum number of exchanges if other processes keep replacing the same name. After that, the
 * file that is still under the temporary name moves out of the workspace.
 */
const MAX_SWAPS = 16;

interface Returned {
  /**
   * The way in which another process's file got its name back. `swapped`: it exchanged names with
   * the file that had the name. `free`: the name was free. `retry`: it did not get the name,
   * because the name was free for a moment and was then taken.
   */
  readonly how: 'swapped' | 'free' | 'retry';
  readonly kept: readonly string[];
}

export function conflict(reason: Conflict['reason'], more: Partial<Conflict> = {}): Conflict {
  return { retained: [], ...more, ok: false, reason };
}

type Replacement = NewContent & {
  readonly expected: Expected;
  /** Permission bits of the new file; default: those of the old one. */
  readonly mode?: number;
  /** Set if the caller has just read the file, so that its kind needs no check before opening. */
  readonly looked?: true;
  /**
   * Set if this process has just written the replaced bytes. They are deleted if there is no room
   * to keep them.
   */
  readonly ours?: true;
};

/**
 * Replaces a file if it holds the expected bytes, and moves the old file out of the workspace.
 * Keeps mode, owner and attributes; other hard links keep the old bytes. A crash leaves either the
 * old or the new file under the name; `publishByClaim` can leave none until the next start of
 * Lookfirst.
 */
export async function replace(
  context: DiskContext,
  place: Place,
  change: Replacement,
): Promise<Committed | Conflict> {
  const old = change.looked ? openLooked(place) : openRegular(place);
  if ('problem' in old) return unreadable(old);
  const { expected, mode, staged, ours } = change;
  try {
    if (isReadOnly(old.stats) && expected.evenReadOnly !== true) return conflict('read-only');
    const like = { kind: 'replaces', ...old, ...(mode === undefined ? {} : { mode }) } as const;
    const temp =
      staged === undefined
        ? (writeTempNow(context, place, { content: change, like }) ??
          (await writeTemp(context, place, { content: change, like })))
        : openStaged(place, staged);
    if (temp === undefined) return conflict('changed');
    const publication = { place, temp, old, expected, intended: change, ...(ours ? { ours } : {}) };
    try {
      const exchanged = exchange(context, publication);
      const waits = exchanged.how === 'unsupported' || syncsFolders(context);
      const published = waits
        ? await publishWaiting(context, publication, exchanged)
        : leave(context, publication, exchanged);
      return outcomeOf(publication, published);
    } catch (error) {
      discardOurs(publication);
      throw error;
    } finally {
      closeSync(temp.fd);
    }
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

/** A file that `create` or `replace` publishes later. */
interface NewStaged {
  readonly content: () => Promise<Content>;
  readonly replaces: boolean;
  readonly mode?: number;
}

/**
 * Makes the temporary file for a later `create` or `replace`. Undefined if the old file cannot be
 * read, or if the new mode denies the owner reading or writing. `create` and `replace` then write
 * the file themselves.
 */
export async function stageFile(
  context: DiskContext,
  place: Place,
  { content, replaces, mode }: NewStaged,
): Promise<Staged | undefined> {
  const given = mode === undefined ? {} : { mode };
  const old = replaces ? openRegular(place) : undefined;
  if (old !== undefined && 'problem' in old) return undefined;
  try {
    const wanted = mode ?? (old && modeOf(old.stats));
    if (wanted !== undefined && !canBeStaged(wanted)) return undefined;
    const like =
      old === undefined
        ? ({ kind: 'new', ...given } as const)
        : ({ kind: 'replaces', ...old, ...given } as const);
    return await stageTemp(context, place, { content: await content(), like });
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    if (old !== undefined) closeSync(old.fd);
  }
}

function outcomeOf({ temp, old, intended }: Publication, published: Result): Committed | Conflict {
  if (!published.ok) return conflict('changed', { retained: published.retained });
  const others = Number(old.stats.nlink) - 1;
  const broken: Notice[] = others > 0 ? [{ kind: 'hard-links-broken', count: others }] : [];
  const notices = [...temp.notices, ...broken];
  const { displaced, left, hidesWrites } = published;
  return Object.assign(committed(temp, { content: intended, hidesWrites }), { displaced, left, notices });
}

export function unreadable(problem: Unreadable): Conflict {
  switch (problem.problem) {
    case 'missing':
      return conflict('missing');
    case 'swapped':
      return conflict('changed');
    case 'kind':
      return conflict('kind', { kind: problem.kind });
    case 'denied':
      return conflict('denied', { errno: problem.errno });
    case 'too-large':
      return conflict('changed');
    default:
      return problem satisfies never;
  }
}

/**
 * The outcome of `exchange`. `exchanged`: the old file has the temporary name. `unsupported`: the file
 * system cannot exchange names. `conflict`: the old file was not the expected one.
 */
type Exchanged =
  | { readonly how: 'exchanged'; readonly left: BigIntStats; readonly hidesWrites: boolean }
  | { readonly how: 'unsupported'; readonly hidesWrites: boolean }
  | { readonly how: 'conflict'; readonly retained: readonly string[] };

/** The result of a publication, and whether stats may hide a write right after ours. */
type Result =
  | (Extract<Published, { readonly ok: true }> & { readonly hidesWrites: boolean })
  | Extract<Published, { readonly ok: false }>;

/**
 * Exchanges the names of the old and the new file in one step, so that the target is never absent,
 * if the old file holds the expected bytes. Then verifies the old file. If it is not the expected
 * one, exchanges the names back.
 */
function exchange(context: DiskContext, publication: Publication): Exchanged {
  const { place, temp, old, expected } = publication;
  const { native } = context;
  context.trace?.('compare');
  // The times in `old` were read before this comparison. A write during or after the comparison
  // gives the file other times, which later checks notice.
  const isExpected = holds(old.fd, expected);
  if (!isExpected) {
    discard(temp);
    return { how: 'conflict', retained: [] };
  }
  const hidesWrites = mayHideWrites(context, place, temp);
  if (native === undefined) return { how: 'unsupported', hidesWrites };
  context.trace?.('exchange');
  try {
    native.swapSync(temp.path, at(place));
  } catch (error) {
    if (NO_EXCHANGE.has(errnoOf(error) ?? '')) return { how: 'unsupported', hidesWrites };
    if (!isMissing(error)) throw error;
    // Another process deleted the file, so there is nothing to put back. Remove our new file and
    // report a conflict.
    discard(temp);
    return { how: 'conflict', retained: [] };
  }
  try {
    const left = verified(context, publication);
    if (left !== undefined) {
      context.trace?.('folder-sync');
      return { how: 'exchanged', left, hidesWrites };
    }
  } catch (error) {
    giveBack(context, publication);
    throw error;
  }
  return { how: 'conflict', retained: giveBack(context, publication) };
}

/** The stats of the file that lost the target's name, if it is the old file with the expected bytes. */
function verified(context: DiskContext, { temp, old, expected }: Publication): BigIntStats | undefined {
  // Compare stats before bytes, because that is faster: if the stats differ, our file loses the
  // name again within microseconds.
  const out = lstatSync(temp.path, { bigint: true });
  const looksOld =
    out.ino === old.stats.ino && out.size === old.stats.size && out.mtimeNs === old.stats.mtimeNs;
  if (!looksOld) return undefined;
  context.trace?.('verify');
  return holds(old.fd, expected) ? out : undefined;
}

/** Like `leave`, for a publication that waits for the disk, or that cannot exchange names. */
async function publishWaiting(
  context: DiskContext,
  publication: Publication,
  exchanged: Exchanged,
): Promise<Result> {
  if (exchanged.how === 'unsupported') {
    const published = await publishByClaim(context, publication);
    return published.ok ? { ...published, hidesWrites: exchanged.hidesWrites } : published;
  }
  if (exchanged.how === 'exchanged')
    try {
      // Sync the folder before the old file leaves it: if that fails, the names are exchanged back.
      await syncFolder(context, publication.place.dir);
    } catch (error) {
      giveBack(context, publication);
      throw error;
    }
  return leave(context, publication, exchanged);
}

/** Moves the old file out of the workspace, after the exchange. */
function leave(
  context: DiskContext,
  publication: Publication,
  exchanged: Exclude<Exchanged, { readonly how: 'unsupported' }>,
): Result {
  if (exchanged.how === 'conflict') return { ok: false, retained: exchanged.retained };
  const { temp, expected, ours } = publication;
  const { left, hidesWrites } = exchanged;
  try {
    letOwnerRead(publication);
    if (ours) return { ok: true, displaced: retainOrDrop(context, temp.path), hidesWrites };
    const displaced = retain(context, temp.path, expected.fingerprint.sha256);
    return { ok: true, displaced, left, hidesWrites };
  } catch (error) {
    giveBack(context, publication);
    throw error;
  }
}

/**
 * Undoes an exchange: the old file gets its name back. If another process has given the name to a
 * newer file meanwhile, the newer file gets it instead. The other files are kept outside the
 * workspace; returns their paths.
 */
function giveBack(context: DiskContext, publication: Publication): string[] {
  const { temp } = publication;
  const { native } = context;
  if (native === undefined) return [];
  const kept: string[] = [];
  let placed = temp.stats.ino;
  for (let swaps = 0; swaps < MAX_SWAPS; swaps += 1) {
    const newcomer = inodeAt(temp.path);
    if (newcomer === undefined) break;
    const returned = returnOther(context, native, publication);
    kept.push(...returned.kept);
    if (returned.how === 'retry') continue;
    // Stop if the last exchange gave the temporary name to the file that we had put under the
    // target's name: then no other process interfered.
    if (returned.how === 'free' || inodeAt(temp.path) === placed) break;
    placed = newcomer;
  }
  kept.push(...keepOurs(context, publication));
  if (inodeAt(temp.path) !== undefined) kept.push(retain(context, temp.path));
  return kept;
}

/**
 * Gives another process's file its name back. Keeps a copy of its bytes, because a program that has
 * just read our file under that name could overwrite the returned file.
 */
function returnOther(context: DiskContext, native: NativeFiles, publication: Publication): Returned {
  const { place, temp } = publication;
  const newcomer = openRegular({ ...place, name: temp.name });
  if ('problem' in newcomer) return { how: swapOrMove(native, temp.path, at(place)), kept: [] };
  try {
    const before = settledBytes(newcomer.fd);
    const how = swapOrMove(native, temp.path, at(place));
    const after = bytesOf(newcomer.fd);
    if (before === undefined || after === undefined) return { how, kept: [] };
    const copy = retainBytes(context, before);
    // If the bytes differ, a program wrote into the file during the exchange. Keep the bytes from
    // before and after, because that program may not have finished.
    return { how, kept: before.equals(after) ? [copy] : [copy, retainBytes(context, after)] };
  } finally {
    closeSync(newcomer.fd);
  }
}

function swapOrMove(native: NativeFiles, from: string, to: string): Returned['how'] {
  try {
    native.swapSync(from, to);
    return 'swapped';
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return moveIfFree(from, to) ? 'free' : 'retry';
}

/** Changes a file's permission bits if it holds the expected bytes. */
export function setFileMode(
  place: Place,
  mode: number,
  expected: Expected,
): { readonly ok: true } | Conflict {
  const file = openRegular(place);
  if ('problem' in file) return unreadable(file);
  try {
    if (!holds(file.fd, expected)) return conflict('changed');
    fchmodSync(file.fd, mode & 0o777);
    return { ok: true };
  } finally {
    closeSync(file.fd);
  }
}
