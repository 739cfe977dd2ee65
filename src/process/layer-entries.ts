import { isUtf8 } from 'node:buffer';
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../model/fault.ts';
import type { FileKind } from '../model/path.ts';

/** Reads and removes extended attributes of an open file; part of `fs-native-extensions`. */
export interface AttributeReader {
  listAttrsSync(fd: number): Iterable<string>;
  getAttrSync(fd: number, name: string): Buffer | null;
}

/**
 * An access control list, as `setfacl` sets it. With such a list, the group bits of the mode limit what all listed
 * users and groups may do.
 */
export interface AccessList {
  /** The permissions of the file's own group. */
  readonly group: number;
  /** The entries of the list that stay the same when the file's mode changes. */
  readonly entries: string;
}

const ACCESS_LIST = 'system.posix_acl_access';
/** The extended attribute of a folder with the access list that its new files inherit. */
const INHERITED_LIST = 'system.posix_acl_default';

/**
 * An access list of an open file or folder; undefined if there is none. `itself`: the list for the
 * file or folder. `new files`: the list that new files of the folder inherit.
 */
export function accessList(
  attributes: AttributeReader,
  fd: number,
  of: 'itself' | 'new files',
): AccessList | undefined {
  const name = of === 'itself' ? ACCESS_LIST : INHERITED_LIST;
  const bytes = [...attributes.listAttrsSync(fd)].includes(name) ? attributes.getAttrSync(fd, name) : null;
  return bytes === null ? undefined : parseAccessList(bytes);
}

/**
 * Parses an access control list: a version of 4 bytes, then entries of 8 bytes (kind, permissions,
 * id).
 */
function parseAccessList(bytes: Buffer): AccessList {
  let [group, mask, entries] = [0, 0o7, ''];
  for (let at = 4; at + 8 <= bytes.length; at += 8) {
    const kind = bytes.readUInt16LE(at);
    if (kind === GROUP) group = bytes.readUInt16LE(at + 2);
    if (kind === MASK) mask = bytes.readUInt16LE(at + 2);
    if (!OF_THE_MODE.includes(kind)) entries += bytes.toString('hex', at, at + 8);
  }
  return { group: group & mask, entries };
}

const GROUP = 0x04;
const MASK = 0x10;
/** Tags of the ACL entries that repeat the file mode: the owner, the mask and all other users. */
const OF_THE_MODE: readonly number[] = [0x01, MASK, 0x20];

/**
 * One entry of an overlay layer, which holds a command's writes. `copied`: the name existed in the
 * workspace when the command first changed it.
 */
export type LayerEntry =
  | { readonly kind: 'gone'; readonly relative: string }
  | {
      readonly kind: 'folder';
      readonly relative: string;
      readonly mode: number;
      readonly list: AccessList | undefined;
      readonly copied: boolean;
      /**
       * True if the overlay hides the contents of the workspace's folder, so that only the layer's own entries remain.
       */
      readonly opaque: boolean;
      /** The names of the folder's entries in the overlay layer. */
      readonly names: readonly string[];
    }
  | {
      readonly kind: 'file';
      readonly relative: string;
      readonly mode: number;
      readonly list: AccessList | undefined;
      readonly size: number;
      readonly copied: boolean;
      /**
       * If the file is a copy of a workspace file: candidates for the inode number of that file. On
       * most file systems, one of them is right.
       */
      readonly origin: readonly bigint[];
      /** The path of the file's bytes in the overlay layer. */
      readonly path: string;
    }
  | { readonly kind: 'link'; readonly relative: string; readonly target: string }
  | { readonly kind: 'special'; readonly relative: string; readonly special: FileKind }
  /**
   * An entry whose name or link target is not valid UTF-8, or whose path is too long for the system. It cannot be
   * committed, because no text names it.
   */
  | { readonly kind: 'unnameable'; readonly relative: string; readonly reason: string };

/** The maximum size of a path on Linux in bytes, including the zero byte that ends it. */
const PATH_MAX = 4096;
const TOO_LONG = 'its path is too long';
/** The message for an entry whose name Node decodes incorrectly, so that no path leads to the entry. */
export const NOT_UTF8 = 'its name is not valid UTF-8';
export const TARGET_NOT_UTF8 = 'the target of the link is not valid UTF-8';

/** The permissions that the owner of a folder needs to read its entries. */
const SEARCHABLE = 0o500;

const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const OPEN_FOLDER = OPEN_FILE | constants.O_DIRECTORY;

/**
 * All entries of an overlay's upper folder, which holds a command's writes, each folder before its
 * contents. Makes every entry readable, and removes the overlay's attributes from files. `copied`
 * comes from these attributes, so it is false if a layer is read a second time.
 */
export function* layerEntries(upper: string, attributes: AttributeReader): Generator<LayerEntry> {
  const names = readdirSync(upper).sort();
  yield* entriesIn({ upper, attributes }, { relative: '', names, opaque: false });
}

interface UpperLayer {
  readonly upper: string;
  readonly attributes: AttributeReader;
}

/**
 * Reads the entries below a folder. A folder inside an opaque folder (one that hides the
 * workspace's entries) is opaque too, although the overlay marks only the outermost one.
 */
function* entriesIn(
  reading: UpperLayer,
  folder: { readonly relative: string; readonly names: readonly string[]; readonly opaque: boolean },
): Generator<LayerEntry> {
  for (const name of folder.names) {
    const entry = entryAt(reading, folder.relative === '' ? name : `${folder.relative}/${name}`);
    if (entry.kind !== 'folder') {
      yield entry;
      continue;
    }
    const inner = { ...entry, opaque: entry.opaque || folder.opaque };
    yield inner;
    yield* entriesIn(reading, inner);
  }
}

function entryAt({ upper, attributes }: UpperLayer, relative: string): LayerEntry {
  const path = join(upper, relative);
  // A path of this length cannot be opened, although a program can reach the entry by walking from
  // folder to folder.
  if (Buffer.byteLength(path) >= PATH_MAX) return { kind: 'unnameable', relative, reason: TOO_LONG };
  const stats = lstatSync(path, { throwIfNoEntry: false });
  // No other process changes an overlay layer, so a listed name that does not exist was decoded
  // incorrectly.
  if (stats === undefined) return { kind: 'unnameable', relative, reason: NOT_UTF8 };
  const mode = stats.mode & 0o7777;
  if (stats.isDirectory()) {
    // A folder with read but no search permission can be opened, but its entries cannot.
    if ((mode & SEARCHABLE) !== SEARCHABLE) chmodSync(path, (mode & 0o777) | 0o700);
    const marks = withOpen({ path, mode, flags: OPEN_FOLDER }, (fd) => folderMarks(attributes, fd));
    return { kind: 'folder', relative, mode, ...marks, names: readdirSync(path).sort() };
  }
  if (stats.isFile()) {
    const marks = withOpen({ path, mode, flags: OPEN_FILE }, (fd) => fileMarks(attributes, fd));
    return { kind: 'file', relative, mode, size: stats.size, ...marks, path };
  }
  if (stats.isSymbolicLink()) {
    const target = readlinkSync(path, 'buffer');
    if (!isUtf8(target)) return { kind: 'unnameable', relative, reason: TARGET_NOT_UTF8 };
    return { kind: 'link', relative, target: target.toString('utf8') };
  }
  // Commands cannot create this device. Only the overlay does, for a name that was removed.
  if (stats.isCharacterDevice() && stats.rdev === 0) return { kind: 'gone', relative };
  const special = stats.isFIFO() ? 'fifo' : stats.isSocket() ? 'socket' : 'device';
  return { kind: 'special', relative, special };
}

const OVERLAY = 'user.overlay.';
const ORIGIN = `${OVERLAY}origin`;
const OPAQUE = `${OVERLAY}opaque`;

function folderMarks(
  attributes: AttributeReader,
  fd: number,
): Pick<Extract<LayerEntry, { kind: 'folder' }>, 'copied' | 'opaque' | 'list'> {
  const names = [...attributes.listAttrsSync(fd)];
  const opaque = names.includes(OPAQUE) && attributes.getAttrSync(fd, OPAQUE)?.toString() === 'y';
  return { copied: names.includes(ORIGIN), opaque, list: listAmong(names, attributes, fd) };
}

function fileMarks(
  attributes: AttributeReader,
  fd: number,
): Pick<Extract<LayerEntry, { kind: 'file' }>, 'copied' | 'origin' | 'list'> {
  const names = [...attributes.listAttrsSync(fd)];
  const copied = names.includes(ORIGIN);
  const origin = copied ? inodesIn(attributes.getAttrSync(fd, ORIGIN)) : [];
  return { copied, origin, list: listAmong(names, attributes, fd) };
}

/**
 * Offsets in the attribute `ORIGIN` at which the inode number may be. The attribute ends with the
 * kernel's handle of the file. The handle begins with the inode number; on tmpfs, 4 other bytes
 * come before it.
 */
const INODE_AT = [21, 25];

/** The numbers at the offsets `INODE_AT`, each read with 32 and with 64 bits. One may be the inode number. */
function inodesIn(reference: Buffer | null): readonly bigint[] {
  const bytes = reference ?? Buffer.alloc(0);
  return INODE_AT.flatMap((at) => [
    ...(at + 4 <= bytes.byteLength ? [BigInt(bytes.readUInt32LE(at))] : []),
    ...(at + 8 <= bytes.byteLength ? [bytes.readBigUInt64LE(at)] : []),
  ]);
}

function listAmong(
  names: readonly string[],
  attributes: AttributeReader,
  fd: number,
): AccessList | undefined {
  return names.includes(ACCESS_LIST) ? accessList(attributes, fd, 'itself') : undefined;
}

function withOpen<T>(
  { path, mode, flags }: { path: string; mode: number; flags: number },
  read: (fd: number) => T,
): T {
  const fd = openOwned(path, mode, flags);
  try {
    return read(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Opens a file of this user and makes it accessible if necessary. Changing its mode does no harm:
 * the file is in the state folder, and `mode` keeps the mode that the command set.
 */
function openOwned(path: string, mode: number, flags: number): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    chmodSync(path, (mode & 0o777) | 0o700);
    return openSync(path, flags);
  }
}

/**
 * Gives the entries of an overlay's upper folder the modes that the command left. `layerEntries`
 * has changed some modes, to make all entries readable. A second reading must find the real modes.
 */
export function restoreModes(upper: string, entries: readonly LayerEntry[]): void {
  // Restore a folder after its contents, because its mode may make them inaccessible.
  for (const entry of entries.toReversed()) {
    const needed = entry.kind === 'folder' ? SEARCHABLE : 0o400;
    if ((entry.kind === 'folder' || entry.kind === 'file') && (entry.mode & needed) !== needed)
      chmodSync(join(upper, entry.relative), entry.mode);
  }
}

/**
 * The bytes of a file in an overlay layer. Call it after `layerEntries` has made the file readable.
 */
export function layerBytes({ path }: Extract<LayerEntry, { kind: 'file' }>): Buffer {
  const fd = openSync(path, OPEN_FILE);
  try {
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
