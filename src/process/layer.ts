import { spawn } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf, isMissing, unlessErrno } from '../model/fault.ts';
import { isRecord } from '../model/record.ts';

/**
 * A command's writes that were kept after a conflict can be applied to the workspace for this long.
 */
export const KEPT_MS: number = 7 * 24 * 60 * 60 * 1000;
/** Age at which a layer is removed that names no owner, because its process died while it made the layer. */
const OWNERLESS_MS = 24 * 60 * 60 * 1000;

/** Facts stored beside a command's kept writes, so that another process can apply them. */
export interface LayerRecord {
  readonly session: string;
  readonly command: string;
}

/** A folder in the state folder that collects one command's writes. */
export interface Layer {
  readonly id: string;
  readonly folder: string;
  /** The folders that the layer covers. A command's writes to the Nth folder are in `up-N`. */
  readonly layered: readonly string[];
  /**
   * The time at which the layer was made. A file with a later ctime has changed since then; any
   * other file has not.
   */
  readonly beganNs: bigint;
  /** The name that the folder gets when no command needs it any more. */
  readonly spent: string;
}

/** The name of the folder for layers that no command needs any more. */
const SPENT = 'spent-layers';

/** The link in a layer's folder that names the process which runs its command. */
const OWNER = 'owner';

/** The folder that collects the writes of the command with this id. It need not exist yet. */
function layerFolder(home: string, id: string): string {
  return join(home, 'layers', id);
}

/**
 * Makes the folders for a layer over each of `layered`. Its command must not start before
 * `clockTicked` has returned. `owner`: the tag of this process; see `abandonedLayers`.
 */
export function makeLayer(home: string, id: string, layered: readonly string[], owner?: string): Layer {
  const folder = layerFolder(home, id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (owner !== undefined) symlinkSync(owner, join(folder, OWNER));
  for (const [index, path] of layered.entries()) {
    symlinkSync(path, join(folder, `low-${index}`));
    // Make `up-N`, then give it the permissions of the layered folder: the command sees `up-N` in
    // place of that folder.
    mkdirSync(join(folder, `up-${index}`), { mode: 0o700 });
    chmodSync(join(folder, `up-${index}`), statSync(path).mode & 0o777);
    mkdirSync(join(folder, `work-${index}`), { mode: 0o700 });
  }
  return { id, folder, layered, beganNs: touched(folder), spent: join(home, SPENT, id) };
}

/**
 * Replaces the link to the Nth layered folder by an empty folder. The sandbox then mounts the
 * layered folder's file system on the empty folder; see `SandboxPlan.mounted`.
 */
export function makeLower(layer: Layer, index: number): void {
  const path = join(layer.folder, `low-${index}`);
  unlinkSync(path);
  mkdirSync(path, { mode: 0o700 });
}

/**
 * The folders below `folders` at which another file system is mounted. Leaves out the folders in
 * `except` and their contents. Each needs a layer of its own, because an overlay does not show what
 * is mounted in its lower folder.
 */
export function mountsBelow(folders: readonly string[], except: readonly string[]): readonly string[] {
  const isBelow = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);
  const mounts = readFileSync('/proc/self/mountinfo', 'latin1')
    .split('\n')
    .map((line) => (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_all, code) => byteOf(code)))
    .map((bytes) => Buffer.from(bytes, 'latin1').toString('utf8'))
    .filter((path) => folders.some((folder) => isBelow(path, folder)) && !folders.includes(path))
    .filter((path) => !except.some((folder) => path === folder || isBelow(path, folder)));
  return [...new Set(mounts)].filter((path) => unlessErrno(() => statSync(path).isDirectory()) === true);
}

function byteOf(octal: string): string {
  return String.fromCharCode(Number.parseInt(octal, 8));
}

/**
 * Creates the folder `through-N`, for a folder that the command must change in place. Before the
 * sandbox mounts the layers, it binds that folder to `through-N`. After that, it binds `through-N`
 * to the folder's own path, because a layer now covers this path.
 */
export function makePassage(layer: Layer, index: number): void {
  mkdirSync(join(layer.folder, `through-${index}`), { mode: 0o700 });
}

/** The folder that collects the command's writes to the Nth layered folder. */
export function upperFolder(layer: Layer, index: number): string {
  return join(layer.folder, `up-${index}`);
}

/**
 * Waits up to 10 milliseconds until the kernel's file clock is later than the time at which the
 * layer was made. Files get the time of the last clock tick. So without this wait, a write before
 * the command and one during it could have the same time.
 */
export function clockTicked({ folder, beganNs }: Pick<Layer, 'folder' | 'beganNs'>): void {
  while (touched(folder) <= beganNs);
}

function touched(folder: string): bigint {
  const now = new Date();
  utimesSync(folder, now, now);
  return statSync(folder, { bigint: true }).ctimeNs;
}

/**
 * Keeps a command's writes, so that `openLayer` finds them later. Returns false if that is
 * impossible, for example on a full disk.
 */
export function keepLayer(layer: Layer, record: LayerRecord): boolean {
  if (!keepLater(layer, record)) return false;
  return (
    unlessErrno(() => renameSync(join(layer.folder, LATER), join(layer.folder, 'layer.json')) ?? true) ===
    true
  );
}

/** The record of a layer whose writes are kept only if the process dies that is to commit them. */
const LATER = 'layer.new';

/**
 * Stores the record of a layer under the name `layer.new`. A script that runs the command renames
 * it to `layer.json` if this process does not answer at the end. Returns false if that is impossible.
 */
export function keepLater({ folder, layered, beganNs }: Layer, record: LayerRecord): boolean {
  const text = JSON.stringify({ ...record, layered, beganNs: String(beganNs) });
  return unlessErrno(() => writeFileSync(join(folder, LATER), text, { mode: 0o600 }) ?? true) === true;
}

/** Makes a process the owner of a layer, in place of the process that ran its command. */
export function takeOver({ folder }: Layer, owner: string): void {
  const temp = join(folder, `${OWNER}.new`);
  symlinkSync(owner, temp);
  renameSync(temp, join(folder, OWNER));
}

/** The kept writes of a command and their record; undefined if there are none with this id. */
export function openLayer(home: string, id: string): (Layer & LayerRecord) | undefined {
  if (!/^[a-z0-9]+$/.test(id)) return undefined;
  const folder = layerFolder(home, id);
  let text: string;
  try {
    text = readFileSync(join(folder, 'layer.json'), 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const record: unknown = JSON.parse(text);
  if (!isRecord(record) || !Array.isArray(record['layered'])) return undefined;
  return {
    id,
    folder,
    layered: record['layered'].map(String),
    session: String(record['session']),
    command: String(record['command']),
    beganNs: BigInt(String(record['beganNs'])),
    spent: join(home, SPENT, id),
  };
}

/**
 * Maximum number of files that this process removes itself, because a removal may wait for the
 * disk. A child process removes the rest.
 */
const REMOVED_AT_ONCE = 500;

/**
 * The shell text that removes the rest of a layer. It changes only the mode of folders: a file may
 * be a hard link of a file in the workspace, whose mode must not change.
 */
const REMOVE_REST = 'find "$1" -type d ! -perm -700 -exec chmod 700 {} \\; ; exec rm -rf -- "$1"';

/**
 * Removes a layer with its contents. Ignores errors, because the command already has its result.
 * Removes hard links to workspace files at once: each removal changes the ctime of the workspace
 * file, which would later look like a change by another program. If `spent` is given, only renames
 * the rest of the layer to `spent`, because removing files is slow. `removeSpentLayers` removes it.
 */
export function removeLayer({ folder, spent }: Pick<Layer, 'folder'> & Partial<Pick<Layer, 'spent'>>): void {
  try {
    // Without a `spent` name, remove the record before the files: a partly removed layer must not
    // be applied.
    if (spent === undefined) {
      unlessGone(() => unlinkSync(join(folder, 'layer.json')));
      removeFolder(folder);
    } else retire(folder, spent);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * Moves a layer to its `spent` name, then removes the hard links in it. Under its old name, a
 * partly removed layer could still be applied.
 */
function retire(folder: string, spent: string): void {
  if (!isRenamed(folder, spent)) {
    mkdirSync(dirname(spent), { recursive: true, mode: 0o700 });
    isRenamed(folder, spent);
  }
  // Most commands change nothing, so `up-N` is usually empty and `isRemoved` suffices.
  for (const name of namesIn(spent))
    if (name.startsWith('up-'))
      unlessGone(() => isRemoved(join(spent, name)) || removeTree(join(spent, name), 0));
}

function isRenamed(from: string, to: string): boolean {
  return unlessGone(() => renameSync(from, to) ?? true) === true;
}

/** Removes the contents of layers that no command needs any more. */
export function removeSpentLayers(home: string): void {
  for (const name of namesIn(join(home, SPENT))) {
    try {
      removeFolder(join(home, SPENT, name));
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/** Removes a folder with its contents. If it has many files, a child process removes the rest. */
function removeFolder(folder: string): void {
  if ((unlessGone(() => removeTree(folder, REMOVED_AT_ONCE)) ?? 1) > 0) return;
  const child = spawn('/bin/sh', ['-c', REMOVE_REST, 'sh', folder], { detached: true, stdio: 'ignore' });
  child.once('error', () => {});
  child.unref();
}

/**
 * The ids of layers whose process died while it ran their command, or after. Removes the owner links of kept
 * layers, so that each of these is returned only once.
 */
export function abandonedLayers(home: string, isAlive: (owner: string) => boolean): readonly string[] {
  return namesIn(join(home, 'layers')).filter((id) => {
    const folder = join(home, 'layers', id);
    const link = join(folder, OWNER);
    try {
      if (isAlive(readlinkSync(link))) return false;
      if (namesIn(folder).includes('layer.json')) unlinkSync(link);
      return true;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return false;
    }
  });
}

/**
 * Layers that were kept for longer than `KEPT_MS`, and those of processes that died. The layer of a running command
 * never expires: a server may run on it for days.
 */
export function expiredLayers(
  home: string,
  nowMs: number,
  isAlive: (owner: string) => boolean,
): readonly Pick<Layer, 'folder' | 'spent'>[] {
  const expired: Pick<Layer, 'folder' | 'spent'>[] = [];
  for (const name of namesIn(join(home, 'layers'))) {
    const folder = join(home, 'layers', name);
    const isKept = namesIn(folder).includes('layer.json');
    const owner = isKept ? undefined : unlessErrno(() => readlinkSync(join(folder, OWNER)));
    if (owner !== undefined && isAlive(owner)) continue;
    const limitMs = isKept ? KEPT_MS : owner === undefined ? OWNERLESS_MS : 0;
    if (nowMs - (lstatSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? nowMs) < limitMs) continue;
    expired.push({ folder, spent: join(home, SPENT, name) });
  }
  return expired;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error) || errnoOf(error) === 'ENOTDIR') return [];
    throw error;
  }
}

/**
 * Removes all hard links in a folder, and up to `most` other files. Returns how many more files it
 * could have removed; 0 means that entries may remain.
 */
function removeTree(folder: string, most: number): number {
  let left = most;
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) left = unlessGone(() => removeTree(path, left)) ?? left;
    else left -= unlessGone(() => removeFile(path, left)) ?? 0;
  }
  return left > 0 && !isRemoved(folder) ? 0 : left;
}

/**
 * Removes a folder if it is empty. Returns false if it has entries, for example one whose name is
 * not valid UTF-8, which `removeTree` cannot remove.
 */
function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (errnoOf(error) !== 'ENOTEMPTY') throw error;
    return false;
  }
}

/**
 * Removes a file if it is a hard link or if `left` is not 0. Returns the number to subtract from
 * the limit: 1 for a removed file that is not a hard link, otherwise 0.
 */
function removeFile(path: string, left: number): number {
  const isShared = lstatSync(path).nlink > 1;
  if (isShared || left > 0) unlinkSync(path);
  return isShared || left === 0 ? 0 : 1;
}

/**
 * Runs `remove`. Undefined if the entry is already gone, or if its path is too long. `REMOVE_REST`
 * removes entries with long paths.
 */
function unlessGone<T>(remove: () => T): T | undefined {
  try {
    return remove();
  } catch (error) {
    if (isMissing(error) || errnoOf(error) === 'ENAMETOOLONG') return undefined;
    throw error;
  }
}
