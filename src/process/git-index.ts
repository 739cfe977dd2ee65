import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';

/**
 * Byte offsets in an entry of a git index. An entry holds, in this order: stat fields, mode, owner,
 * group, size, hash, flags, name.
 */
const MTIME_AT = 8;
const INODE_AT = 20;
const MODE_AT = 24;
const SIZE_AT = 36;
const HASH_AT = 40;
const HEADER_BYTES = 12;
/** The name of the extension that marks a split index, which has its other entries in another file. */
const SPLIT_INDEX = 'link';

/** Flags of an entry; `SKIP_WORKTREE` is one of the extended flags. */
const ASSUME_UNCHANGED = 0x8000;
const EXTENDED = 0x4000;
const UNMERGED = 0x3000;
const SKIP_WORKTREE = 0x4000;

const KIND_BITS = 0o170000;
const LINK_KIND = 0o120000;
const SUBMODULE_KIND = 0o160000;

/** A tracked file or link, as an index describes it. */
export interface Tracked {
  /** The git blob with the file's content. */
  readonly blob: string;
  /** Permission bits. */
  readonly mode: number;
  /** Present if the path is a symbolic link; the blob then holds the link's target. */
  readonly link?: true;
  /**
   * The size of the file in the work tree, as long as its other stat fields are those in the index.
   * Absent if git does not trust its own stat fields of this file.
   */
  readonly size?: number;
  /** Stat fields of the file, under the same condition. */
  readonly stamp?: { readonly mtimeMs: number; readonly ctimeMs: number; readonly ino: number };
  /** Present if the user has told git not to look at the file: `assume-unchanged`, `skip-worktree`. */
  readonly marked?: 'assumed' | 'skipped';
}

/** A tracked path with the mode of its entry in the index. */
export function trackedAs(blob: string, mode: number): Tracked {
  const link = (mode & KIND_BITS) === LINK_KIND ? { link: true as const } : {};
  return { blob, mode: mode & 0o777, ...link };
}

/** The offset, flags and name of an index entry. */
interface EntryPlace {
  readonly at: number;
  readonly flagsAt: number;
  readonly nameAt: number;
  readonly nameEnd: number;
}

/** The number of bytes of an object's hash in an index. */
const SHA1_BYTES = 20;
const SHA256_BYTES = 32;

/**
 * The entries of an index in version 2 or 3; undefined for any other. Unmerged paths and submodules
 * are left out.
 */
export function readIndexBytes(bytes: Buffer): ReadonlyMap<string, Tracked> | undefined {
  const tracked = new Map<string, Tracked>();
  const places = placesIn(bytes);
  for (const { at, flagsAt, nameAt, nameEnd } of places ?? []) {
    const mode = bytes.readUInt32BE(at + MODE_AT);
    const flags = bytes.readUInt16BE(flagsAt);
    if ((mode & KIND_BITS) === SUBMODULE_KIND || (flags & UNMERGED) !== 0) continue;
    const marked = markAt(bytes, flagsAt);
    // Git sets the size to 0 if it does not trust the other stat fields.
    const size = bytes.readUInt32BE(at + SIZE_AT);
    tracked.set(bytes.toString('utf8', nameAt, nameEnd), {
      ...trackedAs(bytes.toString('hex', at + HASH_AT, flagsAt), mode),
      ...(size === 0 ? {} : { size, stamp: stampAt(bytes, at) }),
      ...(marked === undefined ? {} : { marked }),
    });
  }
  return places && tracked;
}

/** A time in an entry, in milliseconds, as Node has it. */
function timeAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 1000 + bytes.readUInt32BE(at + 4) / 1_000_000;
}

function stampAt(bytes: Buffer, at: number): NonNullable<Tracked['stamp']> {
  return {
    ctimeMs: timeAt(bytes, at),
    mtimeMs: timeAt(bytes, at + MTIME_AT),
    ino: bytes.readUInt32BE(at + INODE_AT),
  };
}

/** True if a file has the stat fields that the index has of it, so that it has the content of its blob. */
export function isAsStaged(entry: Tracked, { size, mtimeMs, ctimeMs, ino }: Stats): boolean {
  const { stamp } = entry;
  const isSame = stamp?.mtimeMs === mtimeMs && stamp.ctimeMs === ctimeMs && stamp.ino === ino % 2 ** 32;
  return isSame && entry.size === size % 2 ** 32;
}

/** The mark by which git skips a path in the work tree or assumes that it is unchanged. */
function markAt(bytes: Buffer, flagsAt: number): 'skipped' | 'assumed' | undefined {
  const flags = bytes.readUInt16BE(flagsAt);
  const isSkipped = (flags & EXTENDED) !== 0 && (bytes.readUInt16BE(flagsAt + 2) & SKIP_WORKTREE) !== 0;
  if (isSkipped) return 'skipped';
  return (flags & ASSUME_UNCHANGED) !== 0 ? 'assumed' : undefined;
}

/** True for the path of a git index, relative to a root. */
export function isGitIndex(relative: string): boolean {
  return /(^|\/)\.git\/(worktrees\/[^/]+\/)?index$/.test(relative);
}

/**
 * A digest of what an index stages, without the stat fields, which even `git status` renews. An
 * index that cannot be read here is digested whole.
 */
export function stagedContent(bytes: Buffer): string {
  const staged = Buffer.alloc(bytes.length);
  const places = placesIn(bytes);
  let size = places === undefined ? bytes.copy(staged) : 0;
  for (const { at, nameEnd } of places ?? []) {
    size += bytes.copy(staged, size, at + MODE_AT, at + MODE_AT + 4);
    size += bytes.copy(staged, size, at + HASH_AT, nameEnd + 1);
  }
  return createHash('sha256').update(staged.subarray(0, size)).digest('hex').slice(0, 16);
}

/**
 * The paths whose stat fields differ between an index and its renewed copy: git has compared their
 * content and found it the same, apart from line endings.
 */
export function renewedPaths(index: Buffer, renewed: Buffer): readonly string[] {
  if (index.equals(renewed)) return [];
  const nameOf = (bytes: Buffer, { flagsAt, nameEnd }: EntryPlace): string =>
    bytes.toString('utf8', flagsAt, nameEnd);
  const earlier = new Map((placesIn(index) ?? []).map((place) => [nameOf(index, place), place]));
  return (placesIn(renewed) ?? []).flatMap((place) => {
    const was = earlier.get(nameOf(renewed, place));
    const isSame =
      was === undefined ||
      index.compare(renewed, place.at, place.at + HASH_AT, was.at, was.at + HASH_AT) === 0;
    return isSame ? [] : [renewed.toString('utf8', place.nameAt, place.nameEnd)];
  });
}

/** The entries of an index in version 2 or 3; undefined for any other. */
function placesIn(bytes: Buffer): readonly EntryPlace[] | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  if (bytes.toString('latin1', 0, 4) !== 'DIRC' || bytes.readUInt32BE(4) > 3) return undefined;
  return placesWith(bytes, SHA1_BYTES) ?? placesWith(bytes, SHA256_BYTES);
}

/** The entries of an index; undefined if its hashes have another length, or if it is a split index. */
function placesWith(bytes: Buffer, hashBytes: number): readonly EntryPlace[] | undefined {
  const places: EntryPlace[] = [];
  const count = bytes.readUInt32BE(8);
  const end = bytes.length - hashBytes;
  let at = HEADER_BYTES;
  for (let seen = 0; seen < count; seen += 1) {
    const flagsAt = at + HASH_AT + hashBytes;
    if (flagsAt + 4 > end) return undefined;
    const nameAt = flagsAt + ((bytes.readUInt16BE(flagsAt) & EXTENDED) === 0 ? 2 : 4);
    const nameEnd = bytes.indexOf(0, nameAt);
    if (nameEnd < 0) return undefined;
    places.push({ at, flagsAt, nameAt, nameEnd });
    at += (nameEnd - at + 8) & ~7;
  }
  // Skip the extensions, each with a name and a size. If they do not end where the checksum begins,
  // the hashes have another length.
  while (at + 8 <= end) {
    if (bytes.toString('latin1', at, at + 4) === SPLIT_INDEX) return undefined;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === end ? places : undefined;
}
