import { fingerprintOf } from '../../disk/hash.ts';
import { inspect, linkTarget, listNames } from '../../disk/list.ts';
import { readSnapshot } from '../../disk/read.ts';
import { isReadOnly, kindOf, modeOf } from '../../disk/stats.ts';
import { sameSide } from '../../journal/side.ts';
import type { Side } from '../../model/entry.ts';
import type { FileKind, PinnedDirectory, Place, ResolvedPath } from '../../model/path.ts';
import { type Outcome, type Refusal, type Refused, refused } from '../../model/verdict.ts';
import { type Layer, upperFolder } from '../../process/layer.ts';
import {
  type AttributeReader,
  type LayerEntry,
  layerBytes,
  layerEntries,
} from '../../process/layer-entries.ts';
import { ABSENT, fileSide } from '../sides.ts';
import type { World } from '../world.ts';

/** What a command did to one path. */
export interface Written {
  readonly path: ResolvedPath;
  /** What is there now. */
  readonly before: Side;
  readonly after: Side;
  /** The bytes of `after`, if it is a file. */
  readonly bytes?: () => Buffer;
  /** Where the layer has these bytes with this mode, if the command made the file. */
  readonly file?: string | undefined;
  /** The file there has no write permission. */
  readonly readOnly: boolean;
  /** Another program changed it while the command ran. */
  readonly concurrent: boolean;
}

export interface WriteSet {
  readonly written: readonly Written[];
  /** FIFOs and sockets that the command left behind; they hold no bytes and are not taken over. */
  readonly leftOut: readonly { readonly path: string; readonly kind: FileKind }[];
  /** setuid and setgid bits that the command set and that are not taken over. */
  readonly droppedBits: readonly string[];
}

/** What a layer holds over each layered folder. It is read once: reading makes files readable that were not. */
export interface LayerContent {
  readonly beganNs: bigint;
  readonly folders: readonly { readonly root: string; readonly entries: readonly LayerEntry[] }[];
}

export function readLayer(layer: Layer, attributes: AttributeReader): LayerContent {
  const folders = layer.layered.map((root, index) => ({
    root,
    entries: [...layerEntries(upperFolder(layer, index), attributes)],
  }));
  return { beganNs: layer.beganNs, folders };
}

/**
 * Compares a command's layer with the workspace as it is now. Call it under the locks of `layerKeys`. A path that cannot be
 * looked at, or that holds what cannot be brought back, refuses the whole command.
 */
export async function readWriteSet(
  world: World,
  { beganNs, folders }: LayerContent,
): Promise<Outcome<{ readonly set: WriteSet }>> {
  const reading = new Reading(world, beganNs);
  for (const { root, entries } of folders) {
    for (const entry of entries) {
      const refusal = await reading.add(root, entry);
      if (refusal !== undefined) return refusal;
    }
  }
  return { ok: true, set: reading.set() };
}

/** The paths that a layer touches: what to lock before it is compared. A locked folder covers what is in it. */
export function layerKeys(world: World, { folders }: LayerContent): readonly string[] {
  const keys = folders.flatMap(({ root, entries }) =>
    outermost(entries).map((relative) => world.workspace.keyOf(absolute(root, relative))),
  );
  return keys.filter((key) => key !== undefined);
}

function outermost(entries: Iterable<LayerEntry>): readonly string[] {
  const touched: string[] = [];
  let covered: string | undefined;
  for (const entry of entries) {
    if (covered !== undefined && entry.relative.startsWith(covered)) continue;
    // A folder that is only on the way to what changed need not be had alone.
    if (entry.kind === 'folder' && entry.copied && !entry.opaque) continue;
    if (entry.kind === 'folder') covered = `${entry.relative}/`;
    touched.push(entry.relative);
  }
  return touched;
}

function absolute(root: string, relative: string): string {
  return `${root === '/' ? '' : root}/${relative}`;
}

class Reading {
  readonly #world: World;
  readonly #beganNs: bigint;
  readonly #written: Written[] = [];
  readonly #leftOut: { readonly path: string; readonly kind: FileKind }[] = [];
  readonly #droppedBits: string[] = [];
  /** Keys of folders that are not there, or not as folders: nothing in them is either. */
  readonly #fresh = new Set<string>();

  constructor(world: World, beganNs: bigint) {
    this.#world = world;
    this.#beganNs = beganNs;
  }

  async add(root: string, entry: LayerEntry): Promise<Refused | undefined> {
    const path = this.#world.workspace.pathOf(absolute(root, entry.relative));
    if (path === undefined) return refused(notInside(entry.relative));
    if (this.#fresh.has(parentKey(path))) return this.#compare(path, entry, NOTHING_THERE);
    const outcome = this.#world.workspace.locate(path.absolute, 'run', 'parents');
    if (!outcome.ok) return refused({ ...outcome.refusal, action: 'commit', path: path.relative });
    const { located } = outcome;
    try {
      // A folder on the way became a link while the command ran.
      if (located.place.path.key !== path.key) return refused(changedMeanwhile(path));
      const there = located.exists ? await this.#look(located.place) : absentFrom(located.place.dir);
      if ('ok' in there) return there;
      const folder = there.side.kind === 'directory' ? located.place : undefined;
      return (folder && (await this.#removals(folder, entry))) ?? (await this.#compare(path, entry, there));
    } finally {
      located.place.dir.close();
    }
  }

  set(): WriteSet {
    return { written: this.#written, leftOut: this.#leftOut, droppedBits: this.#droppedBits };
  }

  /** What the workspace's folder holds and the layer does not have in its place. */
  #removals(folder: Place, entry: LayerEntry): Promise<Refused | undefined> {
    if (entry.kind !== 'folder') return this.#removeAllBut(folder, []);
    return entry.opaque ? this.#removeAllBut(folder, entry.names) : Promise.resolve(undefined);
  }

  async #compare(path: ResolvedPath, entry: LayerEntry, there: There): Promise<Refused | undefined> {
    if (entry.kind === 'special') return this.#special(path, entry.special, there);
    const isFolder = there.side.kind === 'directory';
    if (entry.kind === 'folder' && !isFolder) this.#fresh.add(path.key);
    if (entry.kind === 'file' && entry.size > this.#world.policy.commands.fileBytes)
      return refused(tooLarge(path, entry.size, this.#world.policy.commands.fileBytes));
    const after = this.#after(path, entry);
    if (sameSide(there.side, after.side)) return undefined;
    this.#written.push({
      path,
      before: there.side,
      after: after.side,
      readOnly: there.readOnly,
      concurrent:
        !isFolder && there.ctimeNs > this.#beganNs && (there.side.kind !== 'absent' || isCopy(entry)),
      ...(after.bytes === undefined ? {} : { bytes: after.bytes, file: after.file }),
    });
    return undefined;
  }

  #after(path: ResolvedPath, entry: Exclude<LayerEntry, { kind: 'special' }>): After {
    switch (entry.kind) {
      case 'gone':
        return { side: ABSENT };
      case 'folder':
        return { side: { kind: 'directory', mode: entry.mode & 0o777 } };
      case 'link':
        return { side: { kind: 'link', target: entry.target } };
      case 'file': {
        if ((entry.mode & 0o7000) !== 0) this.#droppedBits.push(path.relative);
        const kept = layerBytes(entry);
        const bytes = kept.byteLength <= KEPT_IN_MEMORY ? () => kept : () => layerBytes(entry);
        const file = isTakeable(entry) ? entry.path : undefined;
        return { side: fileSide(fingerprintOf(kept), entry.mode & 0o777, true), bytes, file };
      }
      default:
        return entry satisfies never;
    }
  }

  #special(path: ResolvedPath, kind: FileKind, there: There): Refused | undefined {
    if (there.side.kind !== 'absent' || kind === 'device') return refused(notAFile(path, kind));
    this.#leftOut.push({ path: path.relative, kind });
    return undefined;
  }

  async #removeAllBut(folder: Place, stay: readonly string[]): Promise<Refused | undefined> {
    const dir = folder.dir.enter(folder.name);
    try {
      for (const { name, kind } of listNames(dir)) {
        if (stay.includes(name)) continue;
        const place = { path: this.#world.workspace.child(folder.path, name), dir, name };
        const inside = kind === 'directory' ? await this.#removeAllBut(place, []) : undefined;
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
      this.#written.push({ path: place.path, before, after: ABSENT, readOnly, concurrent });
    return undefined;
  }

  async #look(place: Place): Promise<There | Refused> {
    const stats = inspect(place.dir, place.name);
    if (stats === undefined) return NOTHING_THERE;
    const { ctimeNs } = stats;
    if (stats.isDirectory())
      return { side: { kind: 'directory', mode: Number(stats.mode & 0o777n) }, ctimeNs, readOnly: false };
    if (stats.isSymbolicLink())
      return { side: { kind: 'link', target: linkTarget(place) ?? '' }, ctimeNs, readOnly: false };
    if (!stats.isFile()) return refused(notAFile(place.path, kindOf(stats)));
    const snapshot = await readSnapshot(place, { clock: undefined, seen: stats });
    if ('problem' in snapshot) return refused(unreadable(place.path, snapshot.problem));
    return {
      side: fileSide(snapshot.fingerprint, modeOf(snapshot.stats) & 0o777, true),
      ctimeNs: snapshot.stats.ctimeNs,
      readOnly: isReadOnly(snapshot.stats),
    };
  }
}

/**
 * A name that is not there. The time is that of its folder: if the layer has a copy of a file under this name, and the folder
 * changed while the command ran, then another program may have removed the file. If the folder did not change, the command
 * itself gave the name to a file that it had moved.
 */
function absentFrom(dir: PinnedDirectory): There {
  return { ...NOTHING_THERE, ctimeNs: inspect(dir, '.')?.ctimeNs ?? 0n };
}

function isCopy(entry: LayerEntry): boolean {
  return entry.kind === 'file' && entry.copied;
}

/** Whether the workspace can have the layer's own file: it is as the command left it, and nothing else has it. */
function isTakeable({ copied, hasOtherNames, mode }: Extract<LayerEntry, { kind: 'file' }>): boolean {
  // Reading the layer changes the mode of a file that its owner may not read.
  return !copied && !hasOtherNames && (mode & 0o7400) === 0o400;
}

interface There {
  readonly side: Side;
  readonly ctimeNs: bigint;
  readonly readOnly: boolean;
}

interface After {
  readonly side: Side;
  readonly bytes?: () => Buffer;
  readonly file?: string | undefined;
}

const NOTHING_THERE: There = { side: ABSENT, ctimeNs: 0n, readOnly: false };

/** Larger files are read again when they are written: a command may leave many. */
const KEPT_IN_MEMORY = 64 << 10;

function parentKey({ key }: ResolvedPath): string {
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

function tooLarge({ relative }: ResolvedPath, sizeBytes: number, limitBytes: number): Refusal {
  const detail = { sizeBytes, limitBytes };
  return { code: 'TOO_LARGE', action: 'commit', path: relative, next: 'ask_human', detail };
}

function unreadable({ relative }: ResolvedPath, reason: string): Refusal {
  return { code: 'UNVERIFIABLE', action: 'commit', path: relative, next: 'ask_human', detail: { reason } };
}
