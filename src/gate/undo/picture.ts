import { listNames } from '../../disk/list.ts';
import { ABSENT, inOrder, type NamedPath, type State, sameState } from '../../model/delta.ts';
import { unlessErrno } from '../../model/fault.ts';
import type { Stamp } from '../../model/fingerprint.ts';
import { LIMITS } from '../../model/limits.ts';
import { isBelow, isWithin, type Place } from '../../model/path.ts';
import { type Outcome, refused } from '../../model/verdict.ts';
import { SharedDirectory } from '../../workspace/pinned.ts';
import type { Located } from '../../workspace/workspace.ts';
import { stateOfLocated } from '../found.ts';
import type { PlannedDelta } from '../plan.ts';
import type { World } from '../world.ts';

/**
 * Bytes of files that an undo removes or replaces stay in memory up to this total size. The preview
 * may lack the diffs of the files beyond it. Each file counts as at least `HELD_FILE_BYTES`. The
 * first file stays in memory even if it is larger than the limit.
 */
const HELD_BYTES = 16 << 20;
const HELD_FILE_BYTES = 64 << 10;

/** A planned move of a folder that is on the disk. */
interface FolderMove {
  readonly from: string;
  readonly to: string;
}

/** Returns the place of an entry before the given moves, newest first. */
export function placeBefore(moves: readonly FolderMove[], key: string): string {
  let place = key;
  for (const { from, to } of moves) if (isWithin(place, to)) place = from + place.slice(to.length);
  return place;
}

/** The state of a path in the picture. */
export interface Pictured {
  readonly state: State;
  /** The stamp of the file on the disk. Set only if an unchanged stamp proves unchanged bytes. */
  readonly stamp?: Stamp | undefined;
  /** Set if a planned delta left this state, not the disk. */
  readonly isPlanned?: true;
  /** Set for a folder that the undo makes: what is on the disk below its path does not count. */
  readonly isNew?: boolean;
  /** Set for a folder that is made only because something is restored in it: the mode that it had, if known. */
  readonly implied?: { readonly mode: number | undefined };
}

const NOTHING: Pictured = { state: ABSENT };

/**
 * Represents an entry that no change expects: a FIFO, a socket or a device, or a file behind a link
 * that has replaced a folder. No real link has an empty target, so this state equals no other.
 */
const UNEXPECTED: Pictured = { state: { kind: 'link', target: '' } };

/** The disk as it will be after the deltas planned so far. Reads the disk, and changes nothing. */
export class Picture {
  readonly #world: World;
  readonly #states = new Map<string, Pictured>();
  /** The number of known entries in each folder. */
  readonly #entries = new Map<string, number>();
  /** Newest first. */
  readonly #moves: FolderMove[] = [];
  /** Planned deltas up to the last move, in the order in which they can be applied. */
  readonly #ended: PlannedDelta[] = [];
  /** The planned deltas since the last move: one for each path. */
  #open = new Map<string, PlannedDelta>();
  readonly #bytes = new Map<string, Uint8Array>();
  readonly #needed: ReadonlySet<string>;
  readonly #folderMode: (key: string) => number | undefined;
  #room = HELD_BYTES;
  /** The folder of the last located key, held open. */
  #near: { readonly folder: string; readonly place: Place } | undefined;

  /**
   * `needed`: hashes of bytes that the undo restores. They stay in memory if a file on the disk has
   * them. `folderMode`: the mode that a missing folder had, if it is known.
   */
  constructor(
    world: World,
    {
      needed,
      folderMode,
    }: { readonly needed: ReadonlySet<string>; folderMode(key: string): number | undefined },
  ) {
    this.#world = world;
    this.#needed = needed;
    this.#folderMode = folderMode;
  }

  /** The bytes, by hash, of files that are on the disk now, and of merged files. */
  get bytes(): ReadonlyMap<string, Uint8Array> {
    return this.#bytes;
  }

  close(): void {
    this.#near?.place.dir.close();
    this.#near = undefined;
  }

  /** The state of a path in the picture. */
  async at(path: NamedPath): Promise<Outcome<{ readonly found: Pictured }>> {
    const known = this.#states.get(path.key) ?? this.#unlessBelowFolder(path.key);
    if (known !== undefined) return { ok: true, found: known };
    const outcome = await this.#onDisk(path);
    if (outcome.ok) this.#set(path.key, outcome.found);
    return outcome;
  }

  /** Nothing, if the picture has no folder above the key, or a new one. Undefined if the disk decides. */
  #unlessBelowFolder(key: string): Pictured | undefined {
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
      const around = this.#states.get(key.slice(0, end));
      if (around !== undefined)
        return around.state.kind === 'directory' && around.isNew !== true ? undefined : NOTHING;
    }
    return undefined;
  }

  async #onDisk(path: NamedPath): Promise<Outcome<{ readonly found: Pictured }>> {
    const key = placeBefore(this.#moves, path.key);
    const outcome = this.#locate(key);
    if (!outcome.ok) return refused({ ...outcome.refusal, path: this.#world.workspace.shownAt(path) });
    const { dir, path: found } = outcome.located.place;
    try {
      if (found.key !== key || isSpecial(outcome.located)) return { ok: true, found: UNEXPECTED };
      const { side, snapshot, stamp } = await stateOfLocated(
        this.#world,
        outcome.located,
        LIMITS.maxEditBytes,
      );
      if (snapshot !== undefined) this.#hold(snapshot.fingerprint.sha256, snapshot.bytes);
      return { ok: true, found: { state: side, stamp } };
    } finally {
      dir.close();
    }
  }

  /** Locates a key. Keys of one folder follow each other, so the last folder stays open for the next key. */
  #locate(key: string): Outcome<{ readonly located: Located }> {
    const { workspace } = this.#world;
    const slash = key.lastIndexOf('/');
    const beside =
      this.#near !== undefined && this.#near.folder === key.slice(0, slash)
        ? workspace.locateBeside(this.#near.place, key.slice(slash + 1), 'undo')
        : undefined;
    if (beside?.place.path.key === key) return { ok: true, located: beside };
    const outcome = workspace.locate(key, 'undo', 'parents');
    if (!outcome.ok || !outcome.located.exists || outcome.located.place.path.key !== key) return outcome;
    this.close();
    const { located } = outcome;
    this.#near = { folder: key.slice(0, slash), place: located.place };
    const dir = new SharedDirectory(located.place.dir);
    return { ok: true, located: { ...located, place: { ...located.place, dir } } };
  }

  /**
   * Keeps bytes that the undo needs. Of all other files, keeps only the first ones, for the
   * preview.
   */
  #hold(sha256: string, bytes: Uint8Array): void {
    const isFirst = this.#room === HELD_BYTES;
    if (!this.#needed.has(sha256)) this.#room -= Math.max(bytes.byteLength, HELD_FILE_BYTES);
    if (this.#needed.has(sha256) || isFirst || this.#room >= 0) this.#bytes.set(sha256, bytes);
  }

  #set(key: string, next: Pictured): void {
    const folder = key.slice(0, key.lastIndexOf('/'));
    const one = (of: Pictured | undefined): number =>
      of === undefined || of.state.kind === 'absent' ? 0 : 1;
    const change = one(next) - one(this.#states.get(key));
    if (change !== 0) this.#entries.set(folder, (this.#entries.get(folder) ?? 0) + change);
    this.#states.set(key, next);
  }

  /** True if a folder of the picture is not empty. */
  isInUse(key: string): boolean {
    if ((this.#entries.get(key) ?? 0) > 0) return true;
    if (this.#states.get(key)?.isNew === true) return false;
    const place = placeBefore(this.#moves, key);
    // Entries of which the picture knows nothing stay.
    return this.#namesIn(place).some((name) => !this.#states.has(key + name.slice(place.length)));
  }

  /** The keys of the entries in a folder on the disk. Empty if it cannot be listed: its removal then fails. */
  #namesIn(key: string): readonly string[] {
    const { workspace } = this.#world;
    const list = (located: Located): readonly string[] => {
      if (!located.exists || !located.stats.isDirectory()) return [];
      const folder = located.place.dir.enter(located.place.name);
      try {
        const entries = unlessErrno(() => listNames(folder)) ?? [];
        return entries.map(({ name }) => workspace.child(located.place.path, name).key);
      } finally {
        folder.close();
      }
    };
    return workspace.atOnce({ path: key, action: 'undo', links: 'parents' }, list, () => []);
  }

  /**
   * Plans a delta of one path. Joins it with the earlier ones of that path, if no move is in
   * between. Several deltas that add up to none are left out; a single one is recorded even then,
   * because it counts as undone.
   */
  async add(given: PlannedDelta): Promise<void> {
    const { key, before, after } = given;
    const folderMode = after.kind === 'absent' ? undefined : await this.#makeFolders(given);
    const delta = folderMode === undefined ? given : { ...given, folderMode };
    this.#join(delta);
    if (delta.bytes !== undefined && after.kind === 'file')
      this.#bytes.set(after.fingerprint.sha256, delta.bytes());
    const isNew = before.kind !== 'directory' || this.#states.get(key)?.isNew === true;
    this.#set(key, { state: after, isPlanned: true, ...(after.kind === 'directory' && { isNew }) });
  }

  #join(delta: PlannedDelta): void {
    const earlier = this.#open.get(delta.key);
    if (earlier === undefined) {
      this.#open.set(delta.key, delta);
      return;
    }
    const { before, stamp, sinceUs } = earlier;
    this.#open.delete(delta.key);
    if (!sameState(before, delta.after)) this.#open.set(delta.key, { ...delta, before, stamp, sinceUs });
  }

  /** Plans a move. The entry takes along what the picture has below it. */
  async move(delta: PlannedDelta, { key: from }: NamedPath): Promise<void> {
    const folderMode = await this.#makeFolders(delta);
    const { key: to, after } = delta;
    const isNew = this.#states.get(from)?.isNew === true;
    if (after.kind === 'directory') this.#carry(from, to);
    this.#set(from, { ...NOTHING, isPlanned: true });
    this.#set(to, { state: after, isPlanned: true, isNew });
    if (after.kind === 'directory' && !isNew) this.#moves.unshift({ from, to });
    this.#endStretch();
    const last = this.#ended.at(-1);
    // A move there and back changes nothing.
    if (last?.movedFrom?.key === to && last.key === from) this.#ended.pop();
    else this.#ended.push({ ...delta, folderMode });
  }

  /** Takes along what the picture has below a moved folder. */
  #carry(from: string, to: string): void {
    const inside = [...this.#states].filter(([key]) => isBelow(key, from));
    for (const key of [...this.#states.keys()])
      if (isBelow(key, from) || isBelow(key, to)) {
        this.#set(key, NOTHING);
        this.#states.delete(key);
      }
    for (const [key, each] of inside) this.#set(to + key.slice(from.length), each);
  }

  /**
   * Makes sure that the folders above a path are there afterwards: gives up the planned removal of
   * one, and makes a missing one. Returns the mode that a missing folder around the path had.
   */
  async #makeFolders({ key, relative }: NamedPath): Promise<number | undefined> {
    const slash = relative.lastIndexOf('/');
    if (slash < 0) return undefined;
    const folder = { key: key.slice(0, key.lastIndexOf('/')), relative: relative.slice(0, slash) };
    const outcome = await this.at(folder);
    if (!outcome.ok || outcome.found.state.kind !== 'absent')
      return outcome.ok ? outcome.found.implied?.mode : undefined;
    await this.#makeFolders(folder);
    const removed = this.#open.get(folder.key);
    if (removed?.before.kind === 'directory') {
      this.#join({ ...removed, after: removed.before });
      this.#set(folder.key, { state: removed.before, isPlanned: true, isNew: true });
      return undefined;
    }
    const mode = this.#folderMode(folder.key);
    const state = { kind: 'directory', mode: mode ?? 0o755 } as const;
    this.#set(folder.key, { state, isPlanned: true, isNew: true, implied: { mode } });
    return mode;
  }

  /** The planned deltas, in the order in which they can be applied. */
  deltas(): readonly PlannedDelta[] {
    this.#endStretch();
    return this.#ended;
  }

  #endStretch(): void {
    // The paths of the oldest change come first among independent deltas.
    for (const delta of [...this.#open.values()].reverse().sort(inOrder)) this.#ended.push(delta);
    this.#open = new Map();
  }
}

/** True for a FIFO, a socket or a device. */
function isSpecial(located: Located): boolean {
  if (!located.exists) return false;
  const { stats } = located;
  return !stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink();
}
