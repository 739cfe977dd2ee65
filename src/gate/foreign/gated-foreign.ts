import type {
  CallTimes,
  ForeignSession,
  GuessedEvent,
  ListingEvent,
  Located,
  ShownBytes,
} from '../../model/foreign-session.ts';
import type { ForeignIntent } from '../../model/intent.ts';
import type { Notice, StatusResult, WitnessEvent } from '../../model/results.ts';
import type { ChangeEnding, Session } from '../../model/session.ts';
import { type Action, type Outcome, refused } from '../../model/verdict.ts';
import { runAsTool } from '../calling-tool.ts';
import type { Gate } from '../gate.ts';
import { witness } from '../witness.ts';
import { foreignLocate } from './locate.ts';
import { type Scene, witnessOutput, witnessShown } from './shown.ts';
import { speltPath } from './spelling.ts';
import { sawWhole } from './whole.ts';

type Witnessed = Promise<Outcome<{ notices: readonly Notice[] }>>;

/** Lists of folders up to this many entries count as full. */
const MAX_LISTED = 100_000;

/** A session of the gate, for reads and changes that another server makes. */
export class GatedForeign implements ForeignSession {
  readonly id: string;
  readonly readOnly: boolean;
  readonly #scene: Scene;
  readonly #session: Session;
  readonly #gate: Pick<Gate, 'refusals' | 'announcements'>;

  /** `gate` is that of the session, so that both count refusals together. */
  constructor(scene: Scene, session: Session, gate: Pick<Gate, 'refusals' | 'announcements'>) {
    this.id = session.id;
    this.readOnly = scene.world.policy.readOnly;
    this.#scene = scene;
    this.#session = session;
    this.#gate = gate;
  }

  locate(path: string, action: Action): Located | Promise<Located> {
    const outcome = foreignLocate(this.#scene.world, path, action);
    if (outcome.ok) return outcome;
    return this.#gate.refusals.record(outcome).then(({ refusal }) => refused(refusal));
  }

  spelt(path: string): string {
    return speltPath(this.#scene.world, path);
  }

  announce(
    intents: readonly ForeignIntent[],
    times?: CallTimes,
    tool?: string,
  ): Promise<Outcome<{ readonly change: string; readonly notices: readonly Notice[] }>> {
    const announce = () => this.#gate.announcements.announce(intents, times === undefined ? {} : { times });
    return tool === undefined ? announce() : runAsTool(tool, announce);
  }

  settle(change: string, ending: ChangeEnding): Witnessed {
    return this.#gate.announcements.settle(change, ending);
  }

  async witness(event: WitnessEvent | ListingEvent | GuessedEvent, times?: CallTimes): Witnessed {
    if (event.kind === 'list') {
      const listed = await this.#session.list(event.path, { limit: MAX_LISTED });
      return listed.ok ? { ok: true, notices: [] } : listed;
    }
    if (event.kind !== 'read') return witness(this.#scene.world, this.#scene.ledger, event);
    const seen = await witnessShown(this.#during(times), event);
    // A read of a path starts the count of its refusals again.
    if (seen.ok) this.#gate.refusals.reset(event.path);
    return seen;
  }

  async witnessOutput(path: string, output: string): Promise<void> {
    if (await witnessOutput(this.#scene, path, output)) this.#gate.refusals.reset(path);
  }

  async sawWhole(
    file: { readonly path: string; readonly key: string },
    shown: ShownBytes,
    times?: CallTimes,
  ): Promise<boolean> {
    const seen = await sawWhole(this.#during(times), file, shown);
    if (seen) this.#gate.refusals.reset(file.path);
    return seen;
  }

  #during(times: CallTimes | undefined): Scene {
    return times === undefined ? this.#scene : { ...this.#scene, times };
  }

  async note(text: string, path?: string): Promise<void> {
    const root = this.#scene.world.workspace.roots[0] ?? '';
    const entry = {
      kind: 'notice' as const,
      atMs: this.#scene.world.now(),
      ...this.#scene.ledger.author,
      root,
      text,
    };
    await this.#scene.world.store.record({ entries: [path === undefined ? entry : { ...entry, path }] });
  }

  status(path?: string): Promise<Outcome<StatusResult>> {
    return this.#session.status(path);
  }
}
