import { NOTHING, WHOLE } from '../../model/coverage.ts';
import type { Delta, State } from '../../model/delta.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import { isWithin } from '../../model/path.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { movedSightings } from '../../views/sightings.ts';
import type { ChangePlan, PlannedDelta } from '../plan.ts';
import type { World } from '../world.ts';

/** The plan of an undo: its deltas, and what the session knows after them. */
export async function changePlanOf(
  world: World,
  knowledge: Knowledge,
  deltas: readonly PlannedDelta[],
): Promise<ChangePlan> {
  const seen = new SeenBefore(world, knowledge, deltas);
  const sightings: Sighting[] = [];
  const tombstones: string[] = [];
  for (const delta of deltas) {
    const { key, after, movedFrom } = delta;
    if (movedFrom !== undefined) {
      const moving = await seen.moving(movedFrom.key, key);
      tombstones.push(...moving.map((each) => each.key));
      sightings.push(...movedSightings(moving, { from: movedFrom.key, to: key }));
    } else if (after.kind === 'absent') tombstones.push(key);
    else sightings.push(...(await seen.restored(delta)));
  }
  const path = deltas[0]?.path ?? world.workspace.named('', '');
  const result = { path: path.given, changed: true, created: false, sizeBytes: 0, notices: [] };
  return { action: 'undo', path, deltas, result, sightings, tombstones };
}

/**
 * Finds what the session has seen of each item (file, link or folder) that an undo restores.
 * Callers must pass the deltas in order.
 */
class SeenBefore {
  readonly #world: World;
  readonly #knowledge: Knowledge;
  /**
   * Keys of files that the undo removes, by the hash of their bytes. If the undo restores these
   * bytes at another path, the lines seen at the removed path count there.
   */
  readonly #going: ReadonlyMap<string, string>;
  /** The views of items that earlier deltas restored, by key. A move back takes them along. */
  readonly #brought = new Map<string, Sighting>();

  constructor(world: World, knowledge: Knowledge, deltas: readonly Delta[]) {
    this.#world = world;
    this.#knowledge = knowledge;
    const going = deltas.flatMap(({ key, before, after }): [string, string][] =>
      after.kind === 'absent' && before.kind === 'file' ? [[before.fingerprint.sha256, key]] : [],
    );
    // Reverse the list, so that the first of several files with the same bytes is used.
    this.#going = new Map(going.reverse());
  }

  /** The sighting of a restored file or folder: the lines or names that the session was shown before. */
  async restored({ key, after }: Delta): Promise<readonly Sighting[]> {
    const known =
      after.kind === 'file' ? await this.#known(key, after.fingerprint) : await this.#listing(key, after);
    if (known === undefined) return after.kind === 'file' ? [this.#unseen(key, after.fingerprint)] : [];
    this.#brought.set(key, known);
    return [{ ...known, stamp: undefined, racy: true }];
  }

  /** The sighting of a restored file that the session only knows to exist: it may edit the file, but not overwrite it. */
  #unseen(key: string, fingerprint: Fingerprint): Sighting {
    const atMs = this.#world.now();
    const place = { key, fingerprint, stamp: undefined, racy: true, totalLines: undefined } as const;
    return { ...place, coverage: NOTHING, flags: NO_FLAGS, how: 'write', lost: 'forgotten', atMs };
  }

  async #listing(key: string, { kind }: State): Promise<Sighting | undefined> {
    return kind === 'directory' ? this.#knowledge.listing(key) : undefined;
  }

  async #known(key: string, fingerprint: Fingerprint): Promise<Sighting | undefined> {
    const before = await this.#knowledge.wholeView(key, fingerprint);
    if (before !== undefined) return { ...before, how: 'write' };
    const from = this.#going.get(fingerprint.sha256);
    const seen = from === undefined ? undefined : await this.#knowledge.recall(from);
    if (seen?.fingerprint?.sha256 === fingerprint.sha256) return { ...seen, key };
    // Another process of the session may have deleted the file: its record names the seen bytes.
    return broughtBack(await this.#knowledge.recall(key), fingerprint);
  }

  /** Returns the views of an entry that moves back and of the files in it, under their present paths. */
  async moving(from: string, to: string): Promise<readonly Sighting[]> {
    const present = new Map((await this.#knowledge.below(from)).map((seen) => [seen.key, seen]));
    for (const [key, seen] of this.#brought) if (isWithin(key, from)) present.set(key, seen);
    const moving = [...present.values()];
    for (const seen of movedSightings(moving, { from, to })) this.#brought.set(seen.key, seen);
    return moving;
  }
}

/** The sighting of a deleted file whose bytes, which the session had seen whole, are there again. */
function broughtBack(gone: Sighting | undefined, fingerprint: Fingerprint): Sighting | undefined {
  const isKnown = gone?.seenBefore?.some((seen) => sameFingerprint(seen, fingerprint)) === true;
  if (!isKnown || gone?.tombstone !== true) return undefined;
  const { key, atMs } = gone;
  const place = { key, fingerprint, stamp: undefined, racy: true, totalLines: undefined } as const;
  return { ...place, coverage: WHOLE, flags: NO_FLAGS, how: 'write', atMs };
}
