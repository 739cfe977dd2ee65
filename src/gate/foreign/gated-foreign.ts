import { Ledger } from '../../ledger/ledger.ts';
import { Fault } from '../../model/fault.ts';
import type { ForeignIntent } from '../../model/intent.ts';
import type { Notice, StatusResult, WitnessEvent } from '../../model/results.ts';
import type { Session } from '../../model/session.ts';
import { type Action, type Outcome, refused } from '../../model/verdict.ts';
import { Refusals } from '../refusals.ts';
import { witness } from '../witness.ts';
import type { World } from '../world.ts';
import { type OpenChange, prepareForeign } from './change.ts';
import { foreignLocate } from './locate.ts';
import type { Ending, ForeignSession, GuessedEvent, ListingEvent, Located, ShownBytes } from './session.ts';
import { settleForeign } from './settle.ts';
import { witnessShown } from './shown.ts';
import { speltPath } from './spelling.ts';
import { sawWhole } from './whole.ts';

type Told = Promise<Outcome<{ notices: readonly Notice[] }>>;

/** Lists of folders up to this many entries count as full. */
const MAX_LISTED = 100_000;

/** A session of the gate, for reads and changes that another server makes. */
export class GatedForeign implements ForeignSession {
  readonly id: string;
  readonly readOnly: boolean;
  readonly #world: World;
  readonly #session: Session;
  readonly #ledger: Ledger;
  readonly #refusals: Refusals;
  readonly #open = new Map<string, OpenChange>();

  /** `world` is that of the workspace the session belongs to. */
  constructor(world: World, session: Session) {
    this.id = session.id;
    this.readOnly = world.policy.readOnly;
    this.#world = world;
    this.#session = session;
    this.#ledger = new Ledger({ store: world.store, session: session.id, policy: world.policy });
    this.#refusals = new Refusals(world, this.#ledger);
  }

  locate(path: string, action: Action): Located | Promise<Located> {
    const outcome = foreignLocate(this.#world, path, action);
    if (outcome.ok) return outcome;
    return this.#refusals.record(outcome).then(({ refusal }) => refused(refusal));
  }

  spelt(path: string): string {
    return speltPath(this.#world, path);
  }

  async prepare(
    intents: readonly ForeignIntent[],
  ): Promise<Outcome<{ readonly change: string; readonly notices: readonly Notice[] }>> {
    const prepared = await prepareForeign({ world: this.#world, ledger: this.#ledger }, intents);
    if (!prepared.ok) {
      const refusals = [];
      for (const denied of prepared.denied) refusals.push((await this.#refusals.record(denied)).refusal);
      const [first] = refusals;
      if (first === undefined) throw new Fault('MISUSE', 'a refusal without a reason');
      return refused(refusals.length === 1 ? first : { ...first, detail: { ...first.detail, refusals } });
    }
    this.#open.set(prepared.open.change, prepared.open);
    return { ok: true, change: prepared.open.change, notices: prepared.notices };
  }

  async settle(change: string, ending: Ending): Told {
    const open = this.#open.get(change);
    if (open === undefined) throw new Fault('MISUSE', `no open change ${change}`);
    this.#open.delete(change);
    await settleForeign({ world: this.#world, ledger: this.#ledger }, open, ending);
    return { ok: true, notices: [] };
  }

  async witness(event: WitnessEvent | ListingEvent | GuessedEvent): Told {
    if (event.kind === 'list') {
      const listed = await this.#session.list(event.path, { limit: MAX_LISTED });
      return listed.ok ? { ok: true, notices: [] } : listed;
    }
    if (event.kind !== 'read') return witness(this.#world, this.#ledger, event);
    const seen = await witnessShown({ world: this.#world, ledger: this.#ledger }, event);
    // A read of a path starts the count of its refusals again.
    if (seen.ok) this.#refusals.reset(event.path);
    return seen;
  }

  async sawWhole(file: { readonly path: string; readonly key: string }, shown: ShownBytes): Promise<boolean> {
    const seen = await sawWhole({ world: this.#world, ledger: this.#ledger }, file, shown);
    if (seen) this.#refusals.reset(file.path);
    return seen;
  }

  async note(text: string, path?: string): Promise<void> {
    const root = this.#world.workspace.roots[0] ?? '';
    const entry = { kind: 'notice' as const, atMs: this.#world.now(), ...this.#ledger.author, root, text };
    await this.#world.store.record({ entries: [path === undefined ? entry : { ...entry, path }] });
  }

  status(path?: string): Promise<Outcome<StatusResult>> {
    return this.#session.status(path);
  }
}
