import { sameContent } from '../../journal/side.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { movedSightings, sightingsBelow } from '../../ledger/moved-sightings.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { RestoreContext } from '../restore-step.ts';

/** What a session knows of the things that the steps of one undo bring back. Steps are asked about in their order. */
export class SeenBefore {
  readonly #ledger: Ledger;
  readonly #steps: readonly UndoStep[];
  /** What earlier steps have brought, by key: a folder that moves back takes it along. */
  #brought = new Map<string, Sighting>();

  constructor(ledger: Ledger, steps: readonly UndoStep[]) {
    this.#ledger = ledger;
    this.#steps = steps;
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
    const moved = this.#steps.find(
      (step) => step.restore.kind === 'absent' && sameContent(step.expect, restore),
    );
    const seen = moved && (await this.#ledger.recall(moved.key));
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
