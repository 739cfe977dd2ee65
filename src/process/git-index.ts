import { createHash } from 'node:crypto';
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
  /** Present if the user has told git not to look at the file: `assume-unchanged`, `skip-worktree`. */
  readonly marked?: 'assumed' | 'skipped';
}

/** A tracked path with the mode of its entry in the index. */
export function trackedAs(blob: string, mode: number): Tracked {
  const link = (mode & KIND_BITS) === LINK_KIND ? { link: true as const } : {};
  return { blob, mode: mode & 0o777, ...link };
}

/** An entry of an index as it is stored. */
interface IndexEntry {
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  readonly blob: string;
  readonly flags: number;
  /** 0 if the entry has none. */
  readonly extended: number;
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
  const entries = entriesOf(bytes);
  if (entries === undefined) return undefined;
  const tracked = new Map<string, Tracked>();
  for (const { path, mode, size, blob, flags, extended } of entries) {
    if ((mode & KIND_BITS) === SUBMODULE_KIND || (flags & UNMERGED) !== 0) continue;
    const isSkipped = (extended & SKIP_WORKTREE) !== 0;
    const marked = isSkipped ? 'skipped' : (flags & ASSUME_UNCHANGED) !== 0 ? 'assumed' : undefined;
    tracked.set(path, {
      ...trackedAs(blob, mode),
      // Git sets the size to 0 if it does not trust the other stat fields.
      ...(size === 0 ? {} : { size }),
      ...(marked === undefined ? {} : { marked }),
    });
  }
  return tracked;
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
  const entries = entriesOf(bytes);
  const hash = createHash('sha256');
  if (entries === undefined) hash.update(bytes);
  for (const { path, mode, blob, flags, extended } of entries ?? [])
    hash.update(`${mode} ${blob} ${flags} ${extended} ${path}\0`);
  return hash.digest('hex').slice(0, 16);
}

function entriesOf(bytes: Buffer): readonly IndexEntry[] | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  if (bytes.toString('latin1', 0, 4) !== 'DIRC' || bytes.readUInt32BE(4) > 3) return undefined;
  for (const hashBytes of HASH_BYTES) {
    const entries = entriesWith(bytes, hashBytes);
    if (entries !== undefined) return entries;
  }
  return undefined;
}

/** The entries of an index; undefined if its hashes have another length, or if it is a split index. */
function entriesWith(bytes: Buffer, hashBytes: number): readonly IndexEntry[] | undefined {
  const entries: IndexEntry[] = [];
  const count = bytes.readUInt32BE(8);
  const end = bytes.length - hashBytes;
  let at = HEADER_BYTES;
  for (let seen = 0; seen < count; seen += 1) {
    const flagsAt = at + HASH_AT + hashBytes;
    if (flagsAt + 4 > end) return undefined;
    const flags = bytes.readUInt16BE(flagsAt);
    const isExtended = (flags & EXTENDED) !== 0;
    const nameAt = flagsAt + (isExtended ? 4 : 2);
    const nameEnd = bytes.indexOf(0, nameAt);
    if (nameEnd < 0) return undefined;
    entries.push({
      path: bytes.toString('utf8', nameAt, nameEnd),
      mode: bytes.readUInt32BE(at + MODE_AT),
      size: bytes.readUInt32BE(at + SIZE_AT),
      blob: bytes.toString('hex', at + HASH_AT, flagsAt),
      flags,
      extended: isExtended ? bytes.readUInt16BE(flagsAt + 2) : 0,
    });
    at += (nameEnd - at + 8) & ~7;
  }
  // Skip the extensions, each with a name and a size. If they do not end where the checksum begins,
  // the hashes have another length.
  while (at + 8 <= end) {
    if (bytes.toString('latin1', at, at + 4) === SPLIT_INDEX) return undefined;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === end ? entries : undefined;
}
