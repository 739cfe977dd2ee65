import type { FileIntent } from '../../src/model/intent.ts';
import type { Session } from '../../src/model/session.ts';
import type { Outcome } from '../../src/model/verdict.ts';
import { random } from './random.ts';
import { bodyOf, resealing, sealed } from './sealed.ts';

export type Done = Outcome<{ readonly change?: string }>;

const FOLDERS = ['', 'd/', 'e/', 'e/deep/', 'new/'];

/**
 * Performs random operations of a session on a small tree, one with each `step`. Every written text
 * ends in its checksum, so that a half-written text is detected.
 */
export class RandomWork {
  readonly #session: Session;
  readonly #chance: ReturnType<typeof random>;
  #count = 0;

  constructor(session: Session, seed: number) {
    this.#session = session;
    this.#chance = random(seed);
  }

  /** Makes one step. Returns undefined if there was nothing to do. */
  async step(): Promise<Done | undefined> {
    const session = this.#session;
    const { roll, pick } = this.#chance;
    const steps: readonly (() => Promise<Done | undefined>)[] = [
      () => session.write(this.#somewhere(), this.#text()),
      () => this.#overwrite(),
      () => this.#overwrite(),
      () => this.#edit(),
      () => this.#edit(),
      () => this.#edit(),
      () => this.#remove(),
      () => this.#move(),
      () => this.#batch(),
      () => this.#batch(),
      () => session.undo({}),
      () => session.undo({ path: this.#somewhere() }),
      () => this.#removeFolder(),
      () => session.mkdir(pick(['new/er', 'e/deep', 'd'])),
      () => session.move(pick(['d', 'e']), pick(['d', 'moved', 'new/d'])),
      () => session.move('moved', pick(['d', 'e'])),
    ];
    return steps[roll(steps.length)]?.();
  }

  #somewhere(): string {
    return `${this.#chance.pick(FOLDERS)}f${this.#chance.roll(3)}`;
  }

  #body(): string {
    const { roll } = this.#chance;
    this.#count += 1;
    const lines = 'lines\n'.repeat(roll(40));
    return `${this.#session.id} ${this.#count}\n${'x'.repeat(roll(400))}\n${lines}end`;
  }

  #text(): string {
    return sealed(this.#body());
  }

  async #overwrite(): Promise<Done> {
    const path = this.#somewhere();
    await this.#session.read(path);
    return this.#session.write(path, this.#text());
  }

  async #edit(): Promise<Done | undefined> {
    const path = this.#somewhere();
    const edits = await this.#editsOf(path);
    return edits && this.#session.edit(path, edits);
  }

  async #editsOf(path: string): Promise<ReturnType<typeof resealing> | undefined> {
    const seen = await this.#session.read(path);
    if (!seen.ok) return undefined;
    const now = bodyOf(`${seen.text}\n`);
    if (now === undefined) throw new Error(`torn: ${path}: ${JSON.stringify(seen.text)}`);
    return resealing(now, this.#body());
  }

  async #remove(): Promise<Done> {
    const path = this.#somewhere();
    await this.#session.read(path);
    return this.#session.delete(path);
  }

  async #move(): Promise<Done> {
    const to = this.#somewhere();
    // Read the destination first: the move may overwrite a file there, which must have been seen.
    await this.#session.read(to);
    return this.#session.move(this.#somewhere(), to);
  }

  async #removeFolder(): Promise<Done> {
    const path = this.#chance.pick(['d', 'e', 'new', 'moved', 'e/deep']);
    await this.#session.list(path, { depth: 9 });
    return this.#session.delete(path, { recursive: true });
  }

  async #batch(): Promise<Done> {
    const changes: FileIntent[] = [];
    for (const path of new Set([this.#somewhere(), this.#somewhere(), this.#somewhere()])) {
      const edits = await this.#editsOf(path);
      const kind = this.#chance.roll(4);
      if (edits === undefined || kind === 0) changes.push({ kind: 'write', path, content: this.#text() });
      else if (kind === 1) changes.push({ kind: 'delete', path });
      else changes.push({ kind: 'edit', path, edits });
    }
    return this.#session.apply(changes);
  }
}
