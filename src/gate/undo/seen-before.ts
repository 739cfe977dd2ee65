import type { UndoStep } from '../../journal/undo-steps.ts';
import { type Ledger, movedSightings, sightingsBelow } from '../../ledger/ledger.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { RestoreContext } from '../restore-step.ts';

/** The session's sightings of the items that an undo restores. Callers must pass the steps in order. */
export class SeenBefore {
  readonly #ledger: Ledger;
  /** Keys of files that go, by the hash of their bytes: a file that comes elsewhere with these bytes was moved. */
  readonly #going: ReadonlyMap<string, string>;
  /** Sightings that earlier steps have restored, by key. A folder that moves back takes them along. */
  #brought = new Map<string, Sighting>();

  constructor(ledger: Ledger, steps: readonly UndoStep[]) {
    this.#ledger = ledger;
    const going = steps.flatMap(({ key, expect, restore }): [string, string][] =>
      restore.kind === 'absent' && expect.kind === 'file' ? [[expect.fingerprint.sha256, key]] : [],
    );
    // If several files have the same bytes, the first one counts.
    this.#going = new Map(going.reverse());
  }

  async of(step: UndoStep): Promise<Pick<RestoreContext, 'known' | 'moving'>> {
    if (step.from !== undefined) return { moving: await this.#moving(step.from.key, step.key) };
    const known = await this.#known(step);
    if (known !== undefined) this.#brought.set(step.key, known);
    return { known };
  }

  async #known({ key, restore }: UndoStep): Promise<Sighting | undefined> {
    if (restore.kind === 'directory') return this.#ledger.earlier.listing(key);
    if (restore.kind !== 'file') return undefined;
    const before = await this.#ledger.earlier.file(key, restore.fingerprint);
    if (before !== undefined) return { ...before, how: 'write' };
    const from = this.#going.get(restore.fingerprint.sha256);
    const seen = from === undefined ? undefined : await this.#ledger.recall(from);
    return seen?.fingerprint?.sha256 === restore.fingerprint.sha256 ? { ...seen, key } : undefined;
  }

  async #moving(from: string, to: string): Promise<readonly Sighting[]> {
    const present = new Map((await sightingsBelow(this.#ledger, from)).map((seen) => [seen.key, seen]));
    for (const [key, seen] of this.#brought) if (key.startsWith(`${from}/`)) present.set(key, seen);
    const moving = [...present.values()];
    for (const seen of movedSightings(moving, { from, to })) this.#brought.set(seen.key, seen);
    return moving;
  }
}
