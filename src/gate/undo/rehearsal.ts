import type { Snapshot } from '../../disk/read.ts';
import type { UndoDelta } from '../../journal/undo-steps.ts';
import type { Awaitable } from '../../model/awaitable.ts';
import { ABSENT } from '../../model/delta.ts';
import type { State } from '../../model/entry.ts';
import type { Stamp } from '../../model/fingerprint.ts';
import { LIMITS } from '../../model/limits.ts';
import { isBelow, type Place } from '../../model/path.ts';
import { type Outcome, refused } from '../../model/verdict.ts';
import { SharedDirectory } from '../../workspace/pinned.ts';
import type { Located } from '../../workspace/workspace.ts';
import { areIndependent } from '../apply-folder.ts';
import { type FoundState, stateOfLocated } from '../found.ts';
import type { World } from '../world.ts';
import type { FoundChange } from './found-changes.ts';

/**
 * Files that an undo removes or replaces stay in memory up to this total size, in bytes. The
 * preview may lack the diffs of the files beyond it. Each file counts as at least
 * `HELD_FILE_BYTES`. The first file stays in memory even if it is larger than the limit.
 */
const HELD_BYTES = 16 << 20;
const HELD_FILE_BYTES = 64 << 10;

/** The state of a path at one point of the simulated undo. */
export interface PathState {
  readonly side: State;
  /** The file on the disk, if this is the present state. */
  readonly snapshot?: Snapshot | undefined;
  /** The stamp of the file on the disk. Set only if an unchanged stamp proves unchanged bytes. */
  readonly stamp?: Stamp | undefined;
  /** The bytes of a file, if they are in memory. */
  readonly bytes?: Uint8Array | undefined;
}

/**
 * Represents an entry that no step expects: a FIFO, a socket or a device, or a file behind a link
 * that has replaced a folder. No real link has an empty target, so this state equals no other.
 */
const UNEXPECTED: PathState = { side: { kind: 'link', target: '' } };

/** Simulates the steps of an undo without touching the disk: tracks what each path holds when a step reaches it. */
export class Rehearsal {
  readonly world: World;
  /** The states that the steps so far leave behind, by key. */
  #left = new Map<string, PathState>();
  /**
   * Keys where a step makes a folder. If a file or a link is there now, paths below it do not exist
   * yet, even if the link leads to a folder.
   */
  readonly #folders: ReadonlySet<string>;
  readonly #isFolder = new Map<string, boolean>();
  /** True if no step depends on another: every key has one step, and nothing moves. */
  readonly #isAlone: boolean;
  /** Hashes of the bytes that steps restore. */
  readonly #restored: ReadonlySet<string>;
  #room = HELD_BYTES;
  /** The folder of the last located key, held open. */
  #near: { readonly folder: string; readonly place: Place } | undefined;

  constructor(world: World, steps: readonly UndoDelta[]) {
    this.world = world;
    this.#isAlone = areIndependent(steps);
    this.#restored = new Set(
      steps.flatMap(({ after }) => (after.kind === 'file' ? [after.fingerprint.sha256] : [])),
    );
    this.#folders = new Set(
      steps.flatMap(({ after, lookAt }) =>
        after.kind === 'directory' && lookAt !== undefined ? [lookAt] : [],
      ),
    );
  }

  /** The state that a step will find at a path. Undefined if it is known only after earlier steps have run. */
  at(
    path: Pick<UndoDelta, 'key' | 'relative' | 'lookAt'>,
  ): Awaitable<Outcome<{ readonly state: PathState | undefined }>> {
    const { key, lookAt } = path;
    const left = this.#isAlone ? undefined : this.#left.get(key);
    if (left !== undefined) return { ok: true, state: left };
    if (lookAt === undefined) return { ok: true, state: undefined };
    if (this.#isBelowNoFolder(lookAt)) return { ok: true, state: { side: ABSENT } };
    const outcome = this.#locate(lookAt);
    if (!outcome.ok) return refused({ ...outcome.refusal, path: this.world.workspace.shownAt(path) });
    const { maxEditBytes } = LIMITS;
    const { dir, path: found } = outcome.located.place;
    if (found.key !== lookAt || isSpecial(outcome.located)) {
      dir.close();
      return { ok: true, state: UNEXPECTED };
    }
    // Copy field by field: for thousands of files, object spreads would take a tenth of the whole time.
    const stateOf = ({ side, snapshot, stamp }: FoundState) => ({
      ok: true as const,
      state: { side, snapshot, stamp, bytes: snapshot?.bytes },
    });
    let reading: Awaitable<FoundState>;
    try {
      reading = stateOfLocated(this.world, outcome.located, maxEditBytes);
    } catch (error) {
      dir.close();
      throw error;
    }
    if (reading instanceof Promise) return reading.then(stateOf).finally(() => dir.close());
    dir.close();
    return stateOf(reading);
  }

  /** Locates a key. Keys of one folder follow each other, so the last folder stays open for the next key. */
  #locate(key: string): Outcome<{ readonly located: Located }> {
    const { workspace } = this.world;
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

  close(): void {
    this.#near?.place.dir.close();
    this.#near = undefined;
  }

  /**
   * Returns the file if its bytes should stay in memory. Bytes that the undo will need stay. Of the
   * other files, only the first ones stay, for the preview.
   */
  held(snapshot: Snapshot | undefined): Snapshot | undefined {
    if (snapshot === undefined || this.#restored.has(snapshot.fingerprint.sha256)) return snapshot;
    const isFirst = this.#room === HELD_BYTES;
    this.#room -= Math.max(snapshot.bytes.byteLength, HELD_FILE_BYTES);
    return isFirst || this.#room >= 0 ? snapshot : undefined;
  }

  /** Records the state that a checked step leaves behind. */
  done({ step, merged }: FoundChange): void {
    if (this.#isAlone) return;
    const { key, after, movedFrom } = step;
    if (movedFrom !== undefined) this.#move(movedFrom.key, key);
    this.#left.set(key, { side: after, bytes: merged });
  }

  #move(from: string, to: string): void {
    const left = new Map<string, PathState>();
    for (const [key, state] of this.#left) {
      if (isBelow(key, from)) left.set(`${to}${key.slice(from.length)}`, state);
      // Drop states recorded below the new path: the moved folder brings its own content.
      else if (!isBelow(key, to)) left.set(key, state);
    }
    this.#left = left.set(from, { side: ABSENT });
  }

  #isBelowNoFolder(key: string): boolean {
    if (this.#folders.size === 0) return false;
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
      const above = key.slice(0, end);
      if (this.#folders.has(above) && !this.#isFolderNow(above)) return true;
    }
    return false;
  }

  #isFolderNow(key: string): boolean {
    const known = this.#isFolder.get(key);
    if (known !== undefined) return known;
    const outcome = this.world.workspace.locate(key, 'undo', 'parents');
    const isFolder = outcome.ok && outcome.located.exists && outcome.located.stats.isDirectory();
    if (outcome.ok) outcome.located.place.dir.close();
    this.#isFolder.set(key, isFolder);
    return isFolder;
  }
}

/** True for a FIFO, a socket or a device. */
function isSpecial(located: Located): boolean {
  if (!located.exists) return false;
  const { stats } = located;
  return !stats.isFile() && !stats.isDirectory() && !stats.isSymbolicLink();
}
