import { readFileSync } from 'node:fs';

/**
 * Byte offsets in an entry of a git index. An entry holds, in this order: stat fields, mode, owner,
 * group, size, hash, flags, name.
 */
const MODE_AT = 24;
const SIZE_AT = 36;
const HASH_AT = 40;
const HEADER_BYTES = 12;
/** The name of the extension that marks a split index, which has its other entries in another file. */
const SPLIT_INDEX = 'link';

/** Flags of an entry; `SKIP_WORKTREE` is one of the extended flags. */
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
  /** Present if the file is not in the work tree by the user's wish (`skip-worktree`). */
  readonly skipped?: true;
}

/** A tracked path with the mode of its entry in the index. */
export function trackedAs(blob: string, mode: number): Tracked {
  const link = (mode & KIND_BITS) === LINK_KIND ? { link: true as const } : {};
  return { blob, mode: mode & 0o777, ...link };
}

/** The number of bytes of an object's hash in an index: SHA-1, SHA-256. */
const HASH_BYTES = [20, 32];

/** The entries of an index file; see `readIndexBytes`. */
export function readIndex(file: string): ReadonlyMap<string, Tracked> | undefined {
  return readIndexBytes(readFileSync(file));
}

/**
 * The entries of an index in version 2 or 3; undefined for any other. Unmerged paths and submodules
 * are left out.
 */
export function readIndexBytes(bytes: Buffer): ReadonlyMap<string, Tracked> | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  if (bytes.toString('latin1', 0, 4) !== 'DIRC' || bytes.readUInt32BE(4) > 3) return undefined;
  for (const hashBytes of HASH_BYTES) {
    const tracked = entriesIn(bytes, hashBytes);
    if (tracked !== undefined) return tracked;
  }
  return undefined;
}

/** The entries of an index; undefined if its hashes have another length, or if it is a split index. */
function entriesIn(bytes: Buffer, hashBytes: number): ReadonlyMap<string, Tracked> | undefined {
  const tracked = new Map<string, Tracked>();
  const count = bytes.readUInt32BE(8);
  const end = bytes.length - hashBytes;
  let at = HEADER_BYTES;
  for (let seen = 0; seen < count; seen += 1) {
    const flagsAt = at + HASH_AT + hashBytes;
    if (flagsAt + 4 > end) return undefined;
    const nameAt = flagsAt + (isExtended(bytes, flagsAt) ? 4 : 2);
    const nameEnd = bytes.indexOf(0, nameAt);
    if (nameEnd < 0) return undefined;
    const entry = entryAt(bytes, at, flagsAt);
    if (entry !== undefined) tracked.set(bytes.toString('utf8', nameAt, nameEnd), entry);
    at += (nameEnd - at + 8) & ~7;
  }
  // Skip the extensions, each with a name and a size. If they do not end where the checksum begins,
  // the hashes have another length.
  while (at + 8 <= end) {
    if (bytes.toString('latin1', at, at + 4) === SPLIT_INDEX) return undefined;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === end ? tracked : undefined;
}

function isExtended(bytes: Buffer, flagsAt: number): boolean {
  return (bytes.readUInt16BE(flagsAt) & EXTENDED) !== 0;
}

/** One entry of an index; undefined for a submodule and for an unmerged path. */
function entryAt(bytes: Buffer, at: number, flagsAt: number): Tracked | undefined {
  const mode = bytes.readUInt32BE(at + MODE_AT);
  if ((mode & KIND_BITS) === SUBMODULE_KIND || (bytes.readUInt16BE(flagsAt) & UNMERGED) !== 0)
    return undefined;
  const isSkipped = isExtended(bytes, flagsAt) && (bytes.readUInt16BE(flagsAt + 2) & SKIP_WORKTREE) !== 0;
  // Git sets the size to 0 if it does not trust the other stat fields.
  const size = bytes.readUInt32BE(at + SIZE_AT);
  return {
    ...trackedAs(bytes.toString('hex', at + HASH_AT, flagsAt), mode),
    ...(size === 0 ? {} : { size }),
    ...(isSkipped ? { skipped: true } : {}),
  };
}
