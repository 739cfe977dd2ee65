import { readFileSync } from 'node:fs';

/**
 * Byte offsets in an entry of a git index. An entry holds, in this order: stat fields, mode, owner,
 * group, size, hash, flags, name.
 */
const MODE_AT = 24;
const HASH_AT = 40;
const NAME_AT = 62;
const HASH_BYTES = 20;
/** The name of the extension that marks a split index, which has its other entries in another file. */
const SPLIT_INDEX = 'link';

const KIND_BITS = 0o170000;
const LINK_KIND = 0o120000;

/** A tracked file or link, as an index describes it. */
export interface Tracked {
  /** The git blob with the file's content. */
  readonly blob: string;
  /** Permission bits. */
  readonly mode: number;
  /** Present if the path is a symbolic link; the blob then holds the link's target. */
  readonly link?: true;
}

/** A tracked path with the mode of its entry in the index. */
export function trackedAs(blob: string, mode: number): Tracked {
  const link = (mode & KIND_BITS) === LINK_KIND ? { link: true as const } : {};
  return { blob, mode: mode & 0o777, ...link };
}

/**
 * The entries of an index in version 2 or 3 with SHA-1; undefined for any other. Unmerged paths and submodules are left
 * out.
 */
export function readIndex(file: string): ReadonlyMap<string, Tracked> | undefined {
  const bytes = readFileSync(file);
  if (bytes.toString('latin1', 0, 4) !== 'DIRC' || bytes.readUInt32BE(4) > 3) return undefined;
  const tracked = new Map<string, Tracked>();
  const count = bytes.readUInt32BE(8);
  const end = bytes.length - HASH_BYTES;
  let at = 12;
  for (let seen = 0; seen < count && at + NAME_AT < end; seen += 1) {
    const flags = bytes.readUInt16BE(at + NAME_AT - 2);
    const nameAt = at + NAME_AT + ((flags & 0x4000) === 0 ? 0 : 2);
    const nameEnd = bytes.indexOf(0, nameAt);
    if (nameEnd < 0) return undefined;
    const mode = bytes.readUInt32BE(at + MODE_AT);
    const isFile = (mode & 0o170000) !== 0o160000 && (flags & 0x3000) === 0;
    const blob = bytes.toString('hex', at + HASH_AT, at + HASH_AT + HASH_BYTES);
    if (isFile) tracked.set(bytes.toString('utf8', nameAt, nameEnd), trackedAs(blob, mode));
    at += (nameEnd - at + 8) & ~7;
  }
  // Skip the extensions, each with a name and a size. If they do not end where the checksum begins,
  // the entries have another form, for example hashes of SHA-256.
  while (at + 8 <= end) {
    if (bytes.toString('latin1', at, at + 4) === SPLIT_INDEX) return undefined;
    at += 8 + bytes.readUInt32BE(at + 4);
  }
  return at === end ? tracked : undefined;
}
