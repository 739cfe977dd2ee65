import { closeSync, fstatSync, lstatSync } from 'node:fs';
import { errnoOf, isMissing } from '../model/errno.ts';
import { at, type FileKind, type Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { publishByClaim } from './claim.ts';
import { type Committed, committed, mayHideWrites, type NewContent } from './committed.ts';
import { type Expected, holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { changeFailed } from './failure.ts';
import { syncFolder } from './folders.ts';
import { moveIfFree } from './free-name.ts';
import type { NativeFiles } from './native.ts';
import {
  discardOurs,
  keepOurs,
  letOwnerRead,
  type Publication,
  type Published,
  retainOrDrop,
} from './publication.ts';
import { type Opened, openLooked, openRegular, readAllSync, type Unreadable } from './read.ts';
import { retain, retainBytes } from './retain.ts';
import { isReadOnly } from './stats.ts';
import { discard, openStaged, type Staged, stageTemp, type TempFile, writeTemp } from './temp-file.ts';

/** Nothing of ours was published. `retained`: files displaced for a moment whose names others have taken since. */
export interface Conflict {
  readonly ok: false;
  readonly reason: 'changed' | 'missing' | 'exists' | 'kind' | 'read-only' | 'denied';
  readonly kind?: FileKind;
  readonly errno?: string;
  readonly retained: readonly string[];
}

/** What the exchange says on file systems that do not have it. */
const NO_EXCHANGE = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** More strangers than this in a row on one name is no longer a race but a fight; everyone's bytes are kept anyway. */
const MAX_SWAPS = 16;
/** Larger files go back without a copy: reading them would leave ours under the name for too long. */
const COPY_BYTES = 64 << 20;

interface Returned {
  /** `free`: the name was free, nothing came out. `retry`: the name was free and is no longer. */
  readonly how: 'swapped' | 'free' | 'retry';
  readonly kept: readonly string[];
}

export function conflict(reason: Conflict['reason'], more: Partial<Conflict> = {}): Conflict {
  return { retained: [], ...more, ok: false, reason };
}

export interface Replacement extends NewContent {
  readonly expected: Expected;
  /** Permission bits of the new file; default: those of the old one. */
  readonly mode?: number;
  /** Its bytes were read a moment ago: what is there is a regular file, or the change is too late. */
  readonly looked?: true;
  /** What is replaced are bytes that we have just put there: given up, if there is no room to keep them. */
  readonly ours?: true;
}

/**
 * Replaces a file if it holds the expected bytes: compared just before, and what came out verified just after.
 * Keeps mode, owner and attributes; other hard links keep the old bytes. The old file is kept in our own folder.
 * A crash leaves the old file, the new one, or (claim only) a name the next start gives back.
 */
export async function replace(
  context: DiskContext,
  place: Place,
  change: Replacement,
): Promise<Committed | Conflict> {
  const old = change.looked ? openLooked(place) : openRegular(place);
  if ('problem' in old) return unreadable(old);
  try {
    if (isReadOnly(old.stats) && change.expected.evenReadOnly !== true) return conflict('read-only');
    const temp = await tempFor(context, place, { ...change, old });
    if (temp === undefined) return conflict('changed');
    try {
      const { expected, bytes: intended, ours } = change;
      const publication = { place, temp, old: { ...old }, expected, intended, ...(ours ? { ours } : {}) };
      return publish(context, publication, change);
    } finally {
      closeSync(temp.fd);
    }
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

async function tempFor(
  context: DiskContext,
  place: Place,
  { bytes, mode, old, staged }: Pick<Replacement, 'bytes' | 'mode' | 'staged'> & { readonly old: Opened },
): Promise<TempFile | undefined> {
  if (staged !== undefined) return openStaged(place, staged);
  const like = { kind: 'replaces', ...old, ...(mode === undefined ? {} : { mode }) } as const;
  return writeTemp(context, place, { bytes, like });
}

/** Writes the successor of a file ahead of `replace`; undefined if there is no file that could be read. */
export async function stageReplacement(
  context: DiskContext,
  place: Place,
  content: Pick<Replacement, 'bytes' | 'mode'>,
): Promise<Staged | undefined> {
  const old = openRegular(place);
  if ('problem' in old) return undefined;
  try {
    const like = {
      kind: 'replaces',
      ...old,
      ...(content.mode === undefined ? {} : { mode: content.mode }),
    } as const;
    return await stageTemp(context, place, { bytes: content.bytes, like });
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    closeSync(old.fd);
  }
}

function publish(context: DiskContext, publication: Publication, content: NewContent): Committed | Conflict {
  const { place, temp, old, expected } = publication;
  let hidesWrites: boolean;
  let published: Published;
  try {
    context.trace?.('compare');
    // Times as they are when the bytes are known to be right: a later write shows in them.
    const stats = fstatSync(old.fd, { bigint: true });
    if (!holds(old.fd, expected)) {
      discard(temp);
      return conflict('changed');
    }
    hidesWrites = mayHideWrites(context, place, temp);
    published = exchangeOrClaim(context, { ...publication, old: { fd: old.fd, stats } });
  } catch (error) {
    discardOurs(context, publication);
    throw error;
  }
  if (!published.ok) return conflict('changed', { retained: published.retained });
  const others = Number(old.stats.nlink) - 1;
  const broken: Notice[] = others > 0 ? [{ kind: 'hard-links-broken', count: others }] : [];
  const notices = [...temp.notices, ...broken];
  return { ...committed(temp, { content, hidesWrites }), displaced: published.displaced, notices };
}

function exchangeOrClaim(context: DiskContext, publication: Publication): Published {
  const published =
    context.native === undefined ? 'unsupported' : publishByExchange(context, context.native, publication);
  return published === 'unsupported' ? publishByClaim(context, publication) : published;
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
 * Publishes by exchanging the two names in one step, so that the target never is absent. What came out is verified
 * before anything else happens; a stranger's file is put back at once. Every inode that ever had the target's name is
 * kept, because someone may still write into it.
 */
function publishByExchange(
  context: DiskContext,
  native: NativeFiles,
  publication: Publication,
): Published | 'unsupported' {
  const { place, temp, old, expected } = publication;
  context.trace?.('exchange');
  try {
    native.swapSync(temp.path, at(place));
  } catch (error) {
    if (NO_EXCHANGE.has(errnoOf(error) ?? '')) return 'unsupported';
    if (!isMissing(error)) throw error;
    // Deleted by someone else: that is a change, and there is nothing to give back.
    discard(temp);
    return { ok: false, retained: [] };
  }
  try {
    // The cheap look first: a stranger is put back within microseconds, before anyone builds on what we published.
    const out = lstatSync(temp.path, { bigint: true });
    const looksOld =
      out.ino === old.stats.ino && out.size === old.stats.size && out.mtimeNs === old.stats.mtimeNs;
    if (looksOld) {
      context.trace?.('verify');
      if (holds(old.fd, expected)) {
        context.trace?.('folder-sync');
        // Before the old file leaves the folder: should it fail, the names are exchanged back.
        syncFolder(context, place.dir);
        letOwnerRead(publication);
        if (publication.ours) return { ok: true, displaced: retainOrDrop(context, temp.path) };
        const image = context.imageName?.(expected.fingerprint, out);
        return { ok: true, displaced: retain(context, temp.path, image) };
      }
    }
  } catch (error) {
    giveBack(context, native, publication);
    throw error;
  }
  return { ok: false, retained: giveBack(context, native, publication) };
}

/**
 * Puts the file that came out of an exchange back under its name. If a newer one has taken the name from ours
 * meanwhile, that one is put back instead, and so on until nobody interferes; what stays displaced is kept.
 * Returns everything kept that holds bytes which are not under the name.
 */
function giveBack(context: DiskContext, native: NativeFiles, publication: Publication): string[] {
  const { temp } = publication;
  const kept: string[] = [];
  let placed = temp.stats.ino;
  for (let swaps = 0; swaps < MAX_SWAPS; swaps += 1) {
    const stranger = inodeAt(temp.path);
    if (stranger === undefined) break;
    const returned = returnStranger(context, native, publication);
    kept.push(...returned.kept);
    if (returned.how === 'retry') continue;
    // What came out is what we had put there: nobody interfered, and the stranger now in place is the newest.
    if (returned.how === 'free' || inodeAt(temp.path) === placed) break;
    placed = stranger;
  }
  kept.push(...keepOurs(context, publication));
  if (inodeAt(temp.path) !== undefined) kept.push(retain(context, temp.path));
  return kept;
}

function inodeAt(path: string): bigint | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/**
 * Puts one file back. A copy of its bytes is kept and reported although they are under the name again: a program may
 * have read our file while it was there, and will write over bytes that it never saw.
 */
function returnStranger(context: DiskContext, native: NativeFiles, publication: Publication): Returned {
  const { place, temp } = publication;
  const stranger = openRegular({ ...place, name: temp.name });
  if ('problem' in stranger) return { how: swapOrMove(native, temp.path, at(place)), kept: [] };
  try {
    const before = bytesOf(stranger.fd);
    const how = swapOrMove(native, temp.path, at(place));
    const after = bytesOf(stranger.fd);
    if (before === undefined || after === undefined) return { how, kept: [] };
    const copy = retainBytes(context, before);
    // Its writer was at work: what it had finished just now may be written over before we look again.
    return { how, kept: before.equals(after) ? [copy] : [copy, retainBytes(context, after)] };
  } finally {
    closeSync(stranger.fd);
  }
}

function bytesOf(fd: number): Buffer | undefined {
  const { size } = fstatSync(fd);
  return size > COPY_BYTES ? undefined : readAllSync(fd, size);
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
