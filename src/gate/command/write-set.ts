import { inspect, linkTarget, listNames, readOpened } from '../../disk/list.ts';
import { fingerprintOf, isReadOnly, kindOf, modeOf, readSnapshot, type Unreadable } from '../../disk/read.ts';
import { ABSENT, microseconds, type State, sameState } from '../../model/delta.ts';
import { errnoOf } from '../../model/fault.ts';
import { LIMITS } from '../../model/limits.ts';
import type { FileKind, PinnedDirectory, Place, ResolvedPath } from '../../model/path.ts';
import { type Outcome, type Refusal, type Refused, refused } from '../../model/verdict.ts';
import {
  type AccessList,
  accessList,
  type LayerEntry,
  layerBytes,
  NOT_UTF8,
  TARGET_NOT_UTF8,
} from '../../process/layer-entries.ts';
import type { Located } from '../../workspace/workspace.ts';
import { fileAt, fileState, unknownFile } from '../found.ts';
import type { PlannedDelta } from '../plan.ts';
import type { World } from '../world.ts';
import { absoluteIn, type LayerContent, shownNameOf } from './layer-content.ts';

/** A command's change of one path on its layer. `before`: the state of the path in the workspace. */
export interface LayerDelta extends PlannedDelta {
  /** The bytes of `after`, if it is a file. */
  readonly bytes?: () => Buffer;
  /** True if the file in the workspace has no write permission. */
  readonly readOnly: boolean;
  /** True if another program changed the path while the command ran. */
  readonly concurrent: boolean;
  /** For a new file: possible inode numbers of the workspace file that the command moved here. */
  readonly origin?: readonly bigint[];
}

export interface WriteSet {
  readonly written: readonly LayerDelta[];
  /** FIFOs and sockets that the command left behind. They hold no bytes and are not committed. */
  readonly leftOut: readonly { readonly path: string; readonly kind: FileKind }[];
  /** Paths whose setuid and setgid bits, set by the command, are not committed. */
  readonly droppedBits: readonly string[];
}

/**
 * Compares a command's layer (its private view of the workspace) with the workspace. The caller must hold the locks
 * of `layerKeys`. Refuses the whole command if an undo could not restore one of its paths.
 */
export async function readWriteSet(
  world: World,
  { beganNs, folders }: LayerContent,
): Promise<Outcome<{ readonly set: WriteSet }>> {
  const reading = new WriteSetReader(world, beganNs);
  for (const { root, entries } of folders) {
    for (const entry of entries) {
      const outcome = await reading.add(root, entry).catch((error) => notCompared(entry, error));
      if (outcome !== undefined) return refused(named(world, root, outcome.refusal));
    }
  }
  return { ok: true, set: reading.set() };
}

/** Refuses the whole command after a system error in the comparison. */
function notCompared(entry: LayerEntry, error: unknown): Refused {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return refused(unreadable(entry, errno));
}

/** Replaces the path of a refusal, which is relative to a root, by the name that agents use for it. */
function named(world: World, root: string, refusal: Refusal): Refusal {
  const { path: relative } = refusal;
  if (relative === undefined) return refusal;
  return { ...refusal, path: shownNameOf(world, { root, relative, absolute: absoluteIn(root, relative) }) };
}

type Nameable = Exclude<LayerEntry, { kind: 'unnameable' }>;

class WriteSetReader {
  readonly #world: World;
  readonly #beganNs: bigint;
  readonly #written: LayerDelta[] = [];
  readonly #leftOut: { readonly path: string; readonly kind: FileKind }[] = [];
  readonly #droppedBits: string[] = [];
  /**
   * Folders of the layer at whose key the workspace has no folder. The value is the state of all
   * paths below the key in the workspace: nothing is there. Its `ctimeNs` is 0 if the command made
   * the folder.
   */
  readonly #fresh = new Map<string, There>();
  /** Inode numbers of the workspace's files that the command changed, removed or moved. */
  readonly #inodes = new Set<bigint>();
  /** Number of further bytes of the layer's files that may stay in memory. */
  #room = HELD_BYTES;

  constructor(world: World, beganNs: bigint) {
    this.#world = world;
    this.#beganNs = beganNs;
  }

  async add(root: string, entry: LayerEntry): Promise<Refused | undefined> {
    if (entry.kind === 'unnameable') return refused(unreadable(entry, entry.reason));
    const path = this.#world.workspace.pathOf(absoluteIn(root, entry.relative));
    if (path === undefined) return refused(notInside(entry.relative));
    const fresh = this.#fresh.get(parentKey(path));
    if (fresh !== undefined) return this.#compare(path, entry, fresh);
    const at = { path: path.absolute, action: 'run', links: 'parents' } as const;
    const add = async (located: Located): Promise<Refused | undefined> => {
      // Refuse if a parent folder became a link while the command ran.
      if (located.place.path.key !== path.key) return refused(changedMeanwhile(path));
      if (located.exists && isSameSpecial(entry, kindOf(located.stats))) return undefined;
      const found = located.exists ? await this.#look(located.place) : absentFrom(located.place.dir);
      if ('ok' in found) return found;
      const there = { ...found, list: this.#listAt(located.place, entry, found) };
      const folder = there.side.kind === 'directory' ? located.place : undefined;
      return (folder && (await this.#removals(folder, entry))) ?? (await this.#compare(path, entry, there));
    };
    return this.#world.workspace.at(at, add, ({ refusal }) =>
      refused({ ...refusal, action: 'commit', path: path.relative }),
    );
  }

  set(): WriteSet {
    const isMoved = ({ origin = [] }: LayerDelta): boolean => origin.some((each) => this.#inodes.has(each));
    const written = this.#written.map((each) => (isMoved(each) ? { ...each, concurrent: false } : each));
    return { written, leftOut: this.#leftOut, droppedBits: this.#droppedBits };
  }

  /** Records which entries of a workspace folder the command has removed. */
  #removals(folder: Place, entry: LayerEntry): Promise<Refused | undefined> {
    if (entry.kind !== 'folder') return this.#removeAllBut(folder, NO_NAMES);
    return entry.opaque ? this.#removeAllBut(folder, new Set(entry.names)) : Promise.resolve(undefined);
  }

  async #compare(path: ResolvedPath, entry: Nameable, there: There): Promise<Refused | undefined> {
    if (entry.kind === 'special') return this.#special(path, entry.special, there);
    const isFolder = there.side.kind === 'directory';
    if (isRemovedEmpty(entry, there)) return undefined;
    if (entry.kind === 'folder' && !isFolder) this.#fresh.set(path.key, stateBelow(entry, there));
    if (entry.kind === 'file' && entry.size > this.#world.policy.commands.fileBytes)
      return refused(tooLarge(path, entry.size, this.#world.policy.commands.fileBytes));
    const after = this.#after(entry, there);
    if (sameState(there.side, after.side)) return undefined;
    if (hasSpecialBits(entry)) this.#droppedBits.push(shownNameOf(this.#world, path));
    this.#written.push({
      ...deltaAt(path, there.side, after.side),
      readOnly: there.readOnly,
      concurrent:
        !isFolder && there.ctimeNs > this.#beganNs && (there.side.kind !== 'absent' || isCopy(entry)),
      ...(there.side.kind === 'absent' && entry.kind === 'file' ? { origin: entry.origin } : {}),
      ...(there.side.kind === 'file' ? { sinceUs: microseconds(there.ctimeNs) } : {}),
      ...(after.bytes === undefined ? {} : { bytes: after.bytes }),
    });
    return undefined;
  }

  #after(entry: Exclude<Nameable, { kind: 'special' }>, there: There): After {
    switch (entry.kind) {
      case 'gone':
        return { side: ABSENT };
      case 'folder':
        return { side: { kind: 'directory', mode: modeWithoutList(entry, there) } };
      case 'link':
        return { side: { kind: 'link', target: entry.target } };
      case 'file': {
        const read = layerBytes(entry);
        const isHeld = read.byteLength <= HELD_FILE_BYTES && read.byteLength <= this.#room;
        if (isHeld) this.#room -= read.byteLength;
        const bytes = isHeld ? () => read : () => layerBytes(entry);
        return { side: fileState(fingerprintOf(read), modeWithoutList(entry, there), 'kept'), bytes };
      }
      default:
        return entry satisfies never;
    }
  }

  /**
   * The access list of the path, or for a new path the list that new files inherit there. Undefined
   * if the comparison needs none.
   */
  #listAt({ dir, name }: Place, entry: LayerEntry, { side }: There): AccessList | undefined {
    const { native } = this.#world.disk;
    const isNew = side.kind !== 'file' && side.kind !== 'directory';
    if (native === undefined || !('list' in entry)) return undefined;
    if (entry.list === undefined && !(entry.kind === 'folder' && isNew)) return undefined;
    return readOpened({ dir, name: isNew ? '.' : name }, (fd) =>
      accessList(native, fd, isNew ? 'new files' : 'itself'),
    );
  }

  #special(path: ResolvedPath, kind: FileKind, there: There): Refused | undefined {
    if (there.side.kind !== 'absent' || kind === 'device') return refused(notAFile(path, kind));
    this.#leftOut.push({ path: shownNameOf(this.#world, path), kind });
    return undefined;
  }

  async #removeAllBut(folder: Place, stay: ReadonlySet<string>): Promise<Refused | undefined> {
    const dir = folder.dir.enter(folder.name);
    try {
      for (const { name, kind } of listNames(dir)) {
        if (stay.has(name)) continue;
        const place = { path: this.#world.workspace.child(folder.path, name), dir, name };
        if (name.includes('\ufffd') && inspect(dir, name) === undefined)
          return refused(unreadable(place.path, NOT_UTF8));
        const inside = kind === 'directory' ? await this.#removeAllBut(place, NO_NAMES) : undefined;
        const refusal = inside ?? (await this.#removed(place));
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    } finally {
      dir.close();
    }
  }

  async #removed(place: Place): Promise<Refused | undefined> {
    const glob = this.#world.workspace.protectsFrom(place.path, 'run');
    if (glob !== undefined) return refused(isProtected(place.path, glob));
    const there = await this.#look(place);
    if ('ok' in there) return there;
    const { side: before, readOnly } = there;
    const concurrent = before.kind !== 'directory' && there.ctimeNs > this.#beganNs;
    if (before.kind !== 'absent')
      this.#written.push({ ...deltaAt(place.path, before, ABSENT), readOnly, concurrent });
    return undefined;
  }

  async #look(place: Place): Promise<There | Refused> {
    const stats = inspect(place.dir, place.name);
    if (stats === undefined) return NOTHING_THERE;
    const { ctimeNs } = stats;
    if (stats.isDirectory())
      return { side: { kind: 'directory', mode: Number(stats.mode & 0o777n) }, ctimeNs, readOnly: false };
    if (stats.isSymbolicLink()) {
      const target = linkTarget(place);
      if (target === undefined) return refused(unreadable(place.path, TARGET_NOT_UTF8));
      return { side: { kind: 'link', target }, ctimeNs, readOnly: false };
    }
    if (!stats.isFile()) return refused(notAFile(place.path, kindOf(stats)));
    // Skip files with several hard links. If another program removed one of the names, the
    // command's copy under that name would look like a move of this file.
    if (stats.nlink === 1n) this.#inodes.add(stats.ino);
    const maxBytes = LIMITS.maxEditBytes;
    if (stats.size > maxBytes) return this.#lookAtLarge(place);
    const snapshot = await readSnapshot(place, { clock: undefined, seen: stats });
    if ('problem' in snapshot) return refused(unreadFile(place.path, snapshot));
    return {
      side: fileState(snapshot.fingerprint, modeOf(snapshot.stats) & 0o777, 'kept'),
      ctimeNs: snapshot.stats.ctimeNs,
      readOnly: isReadOnly(snapshot.stats),
    };
  }

  /** Like `#look`, for a file that is too large for memory. */
  async #lookAtLarge(place: Place): Promise<There | Refused> {
    const { path } = place;
    const file = await fileAt(this.#world, place, { maxBytes: 0 });
    if ('problem' in file) return refused(unknownFile({ action: 'commit', path: path.relative }, file));
    // If another program changed the file after `fileAt` read it, `ctimeNs` is later than the
    // command's start, and the change is detected.
    const stats = inspect(place.dir, place.name);
    if (stats === undefined || file.side.kind !== 'file') return refused(changedMeanwhile(path));
    const side = fileState(file.side.fingerprint, modeOf(stats) & 0o777, 'kept');
    return { side, ctimeNs: stats.ctimeNs, readOnly: isReadOnly(stats) };
  }
}

function deltaAt(
  path: ResolvedPath,
  before: State,
  after: State,
): Pick<PlannedDelta, 'key' | 'relative' | 'path' | 'before' | 'after' | 'mode'> {
  return { key: path.key, relative: path.relative, path, before, after, mode: 'asBefore' };
}

/**
 * The state of a name that the workspace lacks, with the change time of its folder. A later time
 * than the command's start can mean that another program removed the file meanwhile.
 */
function absentFrom(dir: PinnedDirectory): There {
  return { ...NOTHING_THERE, ctimeNs: inspect(dir, '.')?.ctimeNs ?? 0n };
}

/** True for a FIFO or socket of the workspace whose times or permissions the command changed. */
function isSameSpecial(entry: LayerEntry, kind: FileKind): boolean {
  return entry.kind === 'special' && entry.special === kind && kind !== 'device';
}

/** True for a changed copy of a file of the workspace, under its name or moved to a new one. */
function isCopy(entry: LayerEntry): boolean {
  return entry.kind === 'file' && entry.copied;
}

/**
 * The mode to commit. An access list that the command set or changed is not committed. A list turns
 * the group bits into a limit for all listed users, so without the list these bits would grant too
 * much to the group. Then the group bits come from the present file, or from the group's own entry
 * in the list.
 */
function modeWithoutList(
  { mode, list }: Extract<LayerEntry, { kind: 'file' | 'folder' }>,
  there: There,
): number {
  if (list === undefined || list.entries === there.list?.entries) return mode & 0o777;
  const isKept = there.list !== undefined && (there.side.kind === 'file' || there.side.kind === 'directory');
  return (mode & 0o707) | (isKept ? there.side.mode & 0o070 : list.group << 3);
}

interface There {
  /** The access list of the path, or the list that a new file inherits; undefined if not needed. */
  readonly list?: AccessList | undefined;
  readonly side: State;
  readonly ctimeNs: bigint;
  readonly readOnly: boolean;
}

interface After {
  readonly side: State;
  readonly bytes?: () => Buffer;
}

const NO_NAMES: ReadonlySet<string> = new Set();
const NOTHING_THERE: There = { side: ABSENT, ctimeNs: 0n, readOnly: false };

/** Files up to this size stay in memory, `HELD_BYTES` in total. Others are read again later. */
const HELD_FILE_BYTES = 64 << 10;
const HELD_BYTES = 16 << 20;

/** The state of a path below a folder that the workspace does not have: nothing is there. */
function stateBelow({ copied }: Extract<LayerEntry, { kind: 'folder' }>, { list, ctimeNs }: There): There {
  return { ...NOTHING_THERE, list, ctimeNs: copied ? ctimeNs : 0n };
}

/**
 * True for a folder that another program has removed, and in which the command has left nothing. It
 * stays removed.
 */
function isRemovedEmpty(entry: LayerEntry, { side }: There): boolean {
  return entry.kind === 'folder' && entry.copied && entry.names.length === 0 && side.kind === 'absent';
}

function hasSpecialBits(entry: LayerEntry): boolean {
  return entry.kind === 'file' && (entry.mode & 0o7000) !== 0;
}

export function parentKey({ key }: Pick<ResolvedPath, 'key'>): string {
  return key.slice(0, key.lastIndexOf('/'));
}

function notInside(path: string): Refusal {
  return { code: 'OUTSIDE_WORKSPACE', action: 'commit', path, next: 'other_path' };
}

function changedMeanwhile({ relative }: ResolvedPath): Refusal {
  return { code: 'COMMAND_CONFLICT', action: 'commit', path: relative, next: 'read_again' };
}

function notAFile({ relative }: ResolvedPath, kind: FileKind): Refusal {
  return { code: 'NOT_A_FILE', action: 'commit', path: relative, next: 'other_path', detail: { kind } };
}

function isProtected({ relative }: ResolvedPath, glob: string): Refusal {
  return { code: 'PROTECTED', action: 'commit', path: relative, next: 'ask_human', detail: { reason: glob } };
}

function tooLarge({ relative }: ResolvedPath, sizeBytes: number, limitBytes?: number): Refusal {
  const detail = { sizeBytes, ...(limitBytes === undefined ? {} : { limitBytes }) };
  return { code: 'TOO_LARGE', action: 'commit', path: relative, next: 'ask_human', detail };
}

function unreadable({ relative }: Pick<ResolvedPath, 'relative'>, reason: string): Refusal {
  return { code: 'UNVERIFIABLE', action: 'commit', path: relative, next: 'ask_human', detail: { reason } };
}

/** The refusal for a file of the workspace that cannot be read, so that an undo could not restore it. */
function unreadFile(path: ResolvedPath, unread: Unreadable): Refusal {
  switch (unread.problem) {
    case 'denied':
      return unreadable(path, unread.errno);
    case 'too-large':
      return tooLarge(path, unread.size);
    case 'kind':
      return notAFile(path, unread.kind);
    case 'missing':
    case 'swapped':
      return changedMeanwhile(path);
    default:
      return unread satisfies never;
  }
}
