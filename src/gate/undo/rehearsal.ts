import type { Snapshot } from '../../disk/read.ts';
import { isUnder } from '../../journal/undo-events.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import type { Side } from '../../model/entry.ts';
import type { Outcome } from '../../model/verdict.ts';
import { sideOfLocated } from '../side-at.ts';
import { ABSENT } from '../sides.ts';
import type { World } from '../world.ts';
import type { Found } from './found.ts';

/** What is at a path at some point of an undo. */
export interface State {
  readonly side: Side;
  /** The file on the disk, if this is what is there now. */
  readonly snapshot?: Snapshot | undefined;
  /** The bytes of a file, if they are at hand. */
  readonly bytes?: Uint8Array | undefined;
}

/** Plays the steps of an undo through without touching the disk: what each path will hold when a step comes to it. */
export class Rehearsal {
  readonly world: World;
  /** What the steps so far leave behind, by key. */
  #left = new Map<string, State>();
  /** Keys at which a step makes a folder. What is there now may be a file or a link, and then nothing is below it. */
  readonly #folders: ReadonlySet<string>;
  readonly #isFolder = new Map<string, boolean>();

  constructor(world: World, steps: readonly UndoStep[]) {
    this.world = world;
    this.#folders = new Set(
      steps.flatMap(({ restore, lookAt }) =>
        restore.kind === 'directory' && lookAt !== undefined ? [lookAt] : [],
      ),
    );
  }

  /** What the step will find; undefined if only carrying out the steps before it can tell. */
  async at({ key, lookAt }: UndoStep): Promise<Outcome<{ readonly state: State | undefined }>> {
    const left = this.#left.get(key);
    if (left !== undefined) return { ok: true, state: left };
    if (lookAt === undefined) return { ok: true, state: undefined };
    if (this.#isBelowNoFolder(lookAt)) return { ok: true, state: { side: ABSENT } };
    const outcome = this.world.workspace.locate(lookAt, 'undo', 'parents');
    if (!outcome.ok) return outcome;
    try {
      const { side, snapshot } = await sideOfLocated(this.world, outcome.located);
      return { ok: true, state: { side, snapshot, bytes: snapshot?.bytes } };
    } finally {
      outcome.located.place.dir.close();
    }
  }

  /** Notes what a step that was checked leaves behind. */
  done({ step, merged }: Found): void {
    const { key, restore, from } = step;
    if (from !== undefined) this.#move(from.key, key);
    this.#left.set(key, { side: restore, bytes: merged });
  }

  #move(from: string, to: string): void {
    const left = new Map<string, State>();
    for (const [key, state] of this.#left) {
      if (isUnder(key, from)) left.set(`${to}${key.slice(from.length)}`, state);
      // What was noted below the new place is no longer there: the folder brings its own content.
      else if (!isUnder(key, to)) left.set(key, state);
    }
    this.#left = left.set(from, { side: ABSENT });
  }

  #isBelowNoFolder(key: string): boolean {
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
