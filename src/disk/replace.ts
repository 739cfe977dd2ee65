import {
  type BigIntStats,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, isMissing, isTaken } from '../model/fault.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { at, type FileKind, type Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import {
  type Content,
  type Expected,
  fingerprintOfContent,
  holds,
  holdsAt,
  holdsContent,
} from './content.ts';
import { changeFailed, type DiskContext, type NativeFiles } from './context.ts';
import { syncFolder, syncsFolders } from './file-system.ts';
import { claimName, moveIfFree, putBack, tempName } from './names.ts';
import {
  isReadOnly,
  modeOf,
  type Opened,
  openLooked,
  openRegular,
  readAllSync,
  stampOf,
  type Unreadable,
} from './read.ts';
import { displace, retain, retainBytes, retainOrDrop } from './shelf.ts';
import {
  canBeStaged,
  discard,
  inodeAt,
  openStaged,
  type Staged,
  type TempFile,
  writeTemp,
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

export function conflict(reason: Conflict['reason'], more: Partial<Conflict> = {}): Conflict {
  return { retained: [], ...more, ok: false, reason };
}

/** New content. `staged`: the temporary file beside the target that already holds it, if there is one. */
export type NewContent = Content & { readonly staged?: Staged | undefined };

export interface Committed {
  readonly ok: true;
  readonly fingerprint: Fingerprint;
  readonly stamp: Stamp;
  /** True if the stat fields in `stamp` may belong to bytes that another process wrote. */
  readonly racy: boolean;
  readonly mode: number;
  /** The current path of the replaced file, outside the workspace. */
  readonly displaced?: string | undefined;
  readonly notices: readonly Notice[];
}

/** A new file that is about to get its name. */
interface NewFile {
  readonly place: Place;
  readonly temp: TempFile;
  readonly intended: Content;
  /** True if another program can write to the new file without changing its stats. */
  readonly hidesWrites: boolean;
}

/**
 * Creates a file if its name is free. If several processes create it at once, one succeeds. Readers
 * never see partial content, except an empty file on file systems without hard links. `mode`
 * defaults to 0666 minus the process's umask.
 */
export async function create(
  context: DiskContext,
  place: Place,
  file: NewContent & { readonly mode?: number | undefined },
): Promise<Committed | Conflict> {
  try {
    const { staged, mode } = file;
    const temp = staged
      ? openStaged(place, staged)
      : await writeTemp(context, place, { content: file, mode });
    if (temp === undefined) return conflict('changed');
    const created = { place, temp, intended: file, hidesWrites: mayHideWrites(context, place, temp) };
    try {
      context.trace?.('publish');
      if (!moveIfFree(temp.path, at(place))) return conflict('exists');
      try {
        context.trace?.('folder-sync');
        await syncFolder(context, place.dir);
      } catch (error) {
        withdraw(context, created);
        throw error;
      }
      return committed(created);
    } finally {
      discardOurs(created);
      closeSync(temp.fd);
    }
  } catch (error) {
    throw changeFailed(context, error, place.path);
  }
}

/** Creates a symbolic link if its name is free. Used only to restore a link that was removed. */
export async function makeLink(
  context: DiskContext,
  place: Place,
  target: string,
): Promise<{ readonly ok: true } | Conflict> {
  try {
    symlinkSync(target, at(place));
    await syncFolder(context, place.dir);
    return { ok: true };
  } catch (error) {
    if (isTaken(error)) return conflict('exists');
    throw changeFailed(context, error, place.path);
  }
}

interface Replacing extends NewFile {
  readonly old: Opened;
  readonly expected: Expected;
  /** Set if this process has just written the replaced bytes. They are deleted if there is no room to keep them. */
  readonly ours?: true | undefined;
}

/**
 * Replaces a file if it holds the expected bytes, and moves the old file out of the workspace.
 * Keeps mode, owner and attributes; other hard links keep the old bytes. `mode`: permission bits
 * of the new file; default: those of the old one. A crash leaves either the old or the new file
 * under the name; `publishByClaim` can leave none until the next start of Lookfirst.
 */
export async function replace(
  context: DiskContext,
  place: Place,
  change: NewContent & Pick<Replacing, 'expected' | 'ours'> & { readonly mode?: number | undefined },
): Promise<Committed | Conflict> {
  const { expected, mode, staged, ours } = change;
  // A caller that has the old bytes has just read the file, so its kind needs no check before opening.
  const old = expected.bytes === undefined ? openRegular(place) : openLooked(place);
  if ('problem' in old) return unreadable(old);
  try {
    if (isReadOnly(old.stats) && expected.evenReadOnly !== true) return conflict('read-only');
    const temp = staged
      ? openStaged(place, staged)
      : await writeTemp(context, place, { content: change, old, mode });
    if (temp === undefined) return conflict('changed');
    const hidesWrites = mayHideWrites(context, place, temp);
    const replacing = { place, temp, old, expected, intended: change, ours, hidesWrites };
    try {
      const published = await publish(context, replacing);
      if ('retained' in published) return conflict('changed', published);
      const others = Number(old.stats.nlink) - 1;
      const broken: Notice[] = others > 0 ? [{ kind: 'hard-links-broken', count: others }] : [];
      const notices = [...temp.notices, ...broken];
      return { ...committed(replacing), ...published, notices };
    } catch (error) {
      discardOurs(replacing);
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

/**
 * Makes the temporary file for a later `create` or `replace`. Undefined if the old file cannot be
 * read, or if the new mode denies the owner reading or writing. `create` and `replace` then write
 * the file themselves.
 */
export async function stageFile(
  context: DiskContext,
  place: Place,
  {
    content,
    replaces,
    mode,
  }: {
    content(): Promise<Content>;
    readonly replaces: boolean;
    readonly mode?: number | undefined;
  },
): Promise<Staged | undefined> {
  const old = replaces ? openRegular(place) : undefined;
  if (old !== undefined && 'problem' in old) return undefined;
  try {
    const wanted = mode ?? (old && modeOf(old.stats));
    if (wanted !== undefined && !canBeStaged(wanted)) return undefined;
    const temp = { content: await content(), old, mode };
    const { fd, name, stats, notices } = await writeTemp(context, place, temp);
    closeSync(fd);
    return { name, stats, notices };
  } catch (error) {
    throw changeFailed(context, error, place.path);
  } finally {
    if (old !== undefined) closeSync(old.fd);
  }
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
 * Unsynced content of fewer bytes is written within one tick of the file system's clock. So
 * `mayHideWrites` need not read that clock for it.
 */
const WORTH_ASKING_BYTES = 1n << 19n;

/**
 * True if another process could write to the file right after us and the file's stats would not
 * show it, because both writes get the same time. Call it just before publishing. Always true for
 * small unsynced content, which is written within one clock tick.
 */
function mayHideWrites(context: DiskContext, { dir }: Place, { stats }: TempFile): boolean {
  const quick = context.durability === 'none' && stats.size < WORTH_ASKING_BYTES;
  return quick || context.clock.isRacy(stats, `${dir.prefix}/.`);
}

/**
 * The record of a published file. Its fingerprint comes from the intended bytes, never from reading
 * the file again.
 */
function committed({ temp, intended, hidesWrites }: NewFile): Committed {
  const stats = fstatSync(temp.fd, { bigint: true });
  return {
    ok: true,
    fingerprint: fingerprintOfContent(intended),
    stamp: stampOf(stats),
    racy: hidesWrites || stats.mtimeNs !== temp.stats.mtimeNs || stats.size !== temp.stats.size,
    mode: modeOf(stats),
    notices: [],
  };
}

/**
 * The current path of the old file; or, if another process changed the file before us and its
 * version keeps the name, the paths of files that could not be put back and are outside the workspace.
 */
type Published = { readonly displaced: string } | { readonly retained: readonly string[] };

/** Gives the new file the target's name, and moves the old one out of the workspace. */
async function publish(context: DiskContext, replacing: Replacing): Promise<Published> {
  const { place, temp } = replacing;
  const exchanged = exchange(context, replacing);
  if (exchanged === 'unsupported') return publishByClaim(context, replacing);
  if (exchanged !== 'exchanged') return exchanged;
  try {
    // Sync the folder before the old file leaves it: if that fails, the names are exchanged back.
    if (syncsFolders(context)) await syncFolder(context, place.dir);
    letOwnerRead(replacing);
    return { displaced: displace(context, temp.path, replacing) };
  } catch (error) {
    giveBack(context, replacing);
    throw error;
  }
}

/** Errors that the exchange of two names returns on file systems that do not support it. */
const NO_EXCHANGE: ReadonlySet<string> = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * Exchanges the names of the old and the new file in one step, so that the target is never absent,
 * if the old file holds the expected bytes. Then verifies the old file, which has the temporary
 * name. If it is not the expected one, exchanges the names back.
 */
function exchange(
  context: DiskContext,
  replacing: Replacing,
): 'exchanged' | 'unsupported' | { readonly retained: readonly string[] } {
  const { place, temp, old, expected } = replacing;
  context.trace?.('compare');
  // The times in `old` were read before this comparison. A write during or after the comparison
  // gives the file other times, which later checks notice.
  if (!holds(old.fd, expected)) {
    discard(temp);
    return { retained: [] };
  }
  if (context.native === undefined) return 'unsupported';
  context.trace?.('exchange');
  try {
    context.native.swapSync(temp.path, at(place));
  } catch (error) {
    if (NO_EXCHANGE.has(errnoOf(error) ?? '')) return 'unsupported';
    if (!isMissing(error)) throw error;
    // Another process deleted the file, so there is nothing to put back. Remove our new file and
    // report a conflict.
    discard(temp);
    return { retained: [] };
  }
  try {
    // Compare stats before bytes, because that is faster: if the stats differ, our file loses the
    // name again within microseconds.
    if (isStill(old.stats, lstatSync(temp.path, { bigint: true }))) {
      context.trace?.('verify');
      if (holds(old.fd, expected)) {
        context.trace?.('folder-sync');
        return 'exchanged';
      }
    }
  } catch (error) {
    giveBack(context, replacing);
    throw error;
  }
  return { retained: giveBack(context, replacing) };
}

function isStill(old: BigIntStats, now: BigIntStats): boolean {
  return now.ino === old.ino && now.size === old.size && now.mtimeNs === old.mtimeNs;
}

/**
 * Replaces a file if the system cannot exchange two names atomically: renames the old file away,
 * verifies it, then gives the new file the target's name. Between the two renames, for about 20 µs,
 * other processes see no file.
 */
async function publishByClaim(context: DiskContext, replacing: Replacing): Promise<Published> {
  const { place, temp, old, expected } = replacing;
  const claim = claimName(context, place);
  if (claim === undefined) {
    unlinkSync(temp.path);
    return { retained: [] };
  }
  let published = false;
  try {
    context.trace?.('verify');
    if (lstatSync(claim, { bigint: true }).ino !== old.stats.ino || !holds(old.fd, expected)) {
      unlinkSync(temp.path);
      return { retained: putBack(context, claim, place) };
    }
    context.trace?.('publish');
    published = moveIfFree(temp.path, at(place));
    if (!published) {
      unlinkSync(temp.path);
      return { retained: [retain(context, claim)] };
    }
    context.trace?.('folder-sync');
    await syncFolder(context, place.dir);
    letOwnerRead(replacing);
    return { displaced: displace(context, claim, replacing) };
  } catch (error) {
    try {
      if (published) withdraw(context, replacing);
    } finally {
      if (lstatSync(claim, { throwIfNoEntry: false }) !== undefined) putBack(context, claim, place);
    }
    throw error;
  }
}

/** Makes the replaced file readable for its owner, because an undo must be able to read it. */
function letOwnerRead({ place, old }: Replacing): void {
  const mode = modeOf(old.stats);
  if (place.opensOwn === true && (mode & constants.S_IRUSR) === 0)
    fchmodSync(old.fd, mode | constants.S_IRUSR);
}

/**
 * After a failure, renames our published file away from the target's name. If another process has
 * given that name to its own file meanwhile, that file stays.
 */
function withdraw(context: DiskContext, file: NewFile): void {
  const { place, temp } = file;
  try {
    renameSync(at(place), temp.path);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  if (lstatSync(temp.path, { bigint: true }).ino === temp.stats.ino) keepOurs(context, file);
  else if (!moveIfFree(temp.path, at(place))) retain(context, temp.path);
}

/**
 * Keeps our own file outside the workspace after it lost the target's name: a process that opened
 * it under that name may still write into it. Returns its path if a process has already written
 * into it, otherwise an empty list.
 */
function keepOurs(context: DiskContext, file: NewFile): string[] {
  const { temp, intended } = file;
  const named = lstatSync(temp.path, { bigint: true, throwIfNoEntry: false })?.ino === temp.stats.ino;
  const touched = !holdsContent(temp.fd, intended);
  if (named) {
    const kept = touched ? retain(context, temp.path) : retainOrDrop(context, temp.path);
    return touched ? [kept] : [];
  }
  if (!touched) return [];
  const { size } = fstatSync(temp.fd, { bigint: true });
  return [retainBytes(context, readAllSync(temp.fd, Number(size)))];
}

/**
 * After a failure, deletes our own file if its bytes are unchanged. Otherwise another process wrote
 * into it: the file stays, and `clearTemps` moves it out of the workspace.
 */
function discardOurs({ temp, intended }: NewFile): void {
  if (lstatSync(temp.path, { bigint: true, throwIfNoEntry: false })?.ino !== temp.stats.ino) return;
  if (holdsContent(temp.fd, intended)) unlinkSync(temp.path);
}

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

/**
 * Undoes an exchange: the old file gets its name back. If another process has given the name to a
 * newer file meanwhile, the newer file gets it instead. The other files are kept outside the
 * workspace; returns their paths.
 */
function giveBack(context: DiskContext, replacing: Replacing): string[] {
  const { temp } = replacing;
  const { native } = context;
  if (native === undefined) return [];
  const kept: string[] = [];
  let placed = temp.stats.ino;
  for (let swaps = 0; swaps < MAX_SWAPS; swaps += 1) {
    const newcomer = inodeAt(temp.path);
    if (newcomer === undefined) break;
    const returned = returnOther(context, native, replacing);
    kept.push(...returned.kept);
    if (returned.how === 'retry') continue;
    // Stop if the last exchange gave the temporary name to the file that we had put under the
    // target's name: then no other process interfered.
    if (returned.how === 'free' || inodeAt(temp.path) === placed) break;
    placed = newcomer;
  }
  kept.push(...keepOurs(context, replacing));
  if (inodeAt(temp.path) !== undefined) kept.push(retain(context, temp.path));
  return kept;
}

/**
 * Gives another process's file its name back. Keeps a copy of its bytes, because a program that has
 * just read our file under that name could overwrite the returned file.
 */
function returnOther(context: DiskContext, native: NativeFiles, replacing: Replacing): Returned {
  const { place, temp } = replacing;
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

/**
 * A file of another process above this size gets its name back without a copy of its bytes. Reading
 * the bytes first would leave our file under the target's name for too long.
 */
const COPY_BYTES = 64 << 20;
/** How often, and with which pauses, to read a file that another program is just rewriting. */
const MAX_READS = 20;
const PAUSE_MS = 0.1;
/** After so many bytes in all, the file is not read again: our file has the target's name meanwhile. */
const ENOUGH_BYTES = 4 << 20;
/** Nothing notifies a wait on this, so that the wait is a pause. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/**
 * The bytes of a file that another program may be writing. Waits a little while the file is empty
 * or changes: a program that rewrites a file empties it first, and its bytes must be in our copy
 * before the file gets its name back. Undefined if the bytes are too many for a copy.
 */
export function settledBytes(fd: number, wait: () => void = pause): Buffer | undefined {
  let total = 0;
  for (let reads = 1; ; reads += 1) {
    const before = fstatSync(fd, { bigint: true });
    const bytes = bytesOf(fd);
    total += bytes?.length ?? 0;
    if (bytes === undefined || reads === MAX_READS || total > ENOUGH_BYTES) return bytes;
    const { size, mtimeNs } = fstatSync(fd, { bigint: true });
    if (size > 0n && size === before.size && mtimeNs === before.mtimeNs) return bytes;
    wait();
  }
}

function pause(): void {
  Atomics.wait(NEVER, 0, 0, PAUSE_MS);
}

/** The bytes of an open file; undefined if they are too many for a copy. */
function bytesOf(fd: number): Buffer | undefined {
  const { size } = fstatSync(fd);
  return size > COPY_BYTES ? undefined : readAllSync(fd, size);
}

interface PutBack {
  /** The current path, outside the workspace, of the file that was replaced or removed. */
  readonly displaced: string;
  /**
   * The fingerprint of the file that now has the old file's name; undefined if the old file was
   * removed.
   */
  readonly ours: Fingerprint | undefined;
}

/**
 * Moves a replaced or removed file back to its place after a later step failed. On one file system,
 * this is a rename, so a full disk does not matter. `back`: the file has its name again. `taken`:
 * meanwhile, another process has changed or deleted our new file, or has created a file with the
 * name; its change stays. `unavailable`: the file cannot be moved back, and the caller must write
 * its bytes to a new file.
 */
export async function putBackFile(
  context: DiskContext,
  place: Place,
  { displaced, ours }: PutBack,
): Promise<'back' | 'taken' | 'unavailable'> {
  // If the old file is not in `retained`, it is in the store of old contents, where another process
  // may already use it. Leave it there.
  if (dirname(displaced) !== context.retained) return 'unavailable';
  try {
    if (ours !== undefined) return await exchangeBack(context, place, { displaced, ours });
    if (!returnRetained(displaced, place)) return 'taken';
    await syncFolder(context, place.dir);
    return 'back';
  } catch (error) {
    if (isMissing(error) || errnoOf(error) === 'EXDEV') return 'unavailable';
    throw error;
  }
}

async function exchangeBack(
  context: DiskContext,
  place: Place,
  { displaced, ours }: { readonly displaced: string; readonly ours: Fingerprint },
): Promise<'back' | 'taken' | 'unavailable'> {
  const { native } = context;
  if (native === undefined) return 'unavailable';
  const name = tempName(context, place.path, 'back');
  const temp = `${place.dir.prefix}/${name}`;
  renameSync(displaced, temp);
  try {
    native.swapSync(temp, at(place));
  } catch (error) {
    // Move the old file out of the workspace again. If another process has deleted our file, the
    // name stays free.
    renameSync(temp, displaced);
    if (isMissing(error)) return 'taken';
    if (NO_EXCHANGE.has(errnoOf(error) ?? '')) return 'unavailable';
    throw error;
  }
  if (holdsAt({ ...place, name }, ours)) {
    retainOrDrop(context, temp);
    await syncFolder(context, place.dir);
    return 'back';
  }
  native.swapSync(temp, at(place));
  retain(context, temp);
  return 'taken';
}

/** Moves a file from outside the workspace back to its name; false if the name is taken. */
export function returnRetained(file: string, place: Place): boolean {
  try {
    return moveIfFree(file, at(place));
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
  }
  try {
    copyFileSync(file, at(place), constants.COPYFILE_EXCL);
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  unlinkSync(file);
  return true;
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
