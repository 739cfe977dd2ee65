import { shellLine } from '../../dialect/calls/shell/shell-line.ts';
import { notLocked } from '../../lock/locks.ts';
import type { ClientCall } from '../../model/call.ts';
import { endsOf } from '../../model/delta.ts';
import type { NewEntry, PendingChange } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { HostIntent } from '../../model/intent.ts';
import type { Notice } from '../../model/results.ts';
import type { AnnounceOptions, ChangeEnding, CommandOptions } from '../../model/session.ts';
import type { Sighting } from '../../model/sighting.ts';
import { invalidArgument, type Outcome, passOn, type Refusal, refused } from '../../model/verdict.ts';
import { clip } from '../../report/bounded.ts';
import { withoutSecrets } from '../../text/secrets.ts';
import { announce, newChangeId } from '../announce.ts';
import { approvalRefusal, approvalsOf } from '../approval.ts';
import { type ClaimNotice, withClaimNotices } from '../claims.ts';
import { keysOf, lockKeys } from '../keys.ts';
import { keepBytesOf } from '../old-bytes.ts';
import type { Denied } from '../prepared.ts';
import type { Refusals } from '../refusals.ts';
import type { ShownScene } from '../shown.ts';
import { keepBytesBefore } from './command.ts';
import { type AllowedChanges, changesElsewhere, joinedChanges, judgeAll } from './judge-all.ts';
import { keepBefore } from './keep.ts';
import type { ShellChange } from './line-changes.ts';
import {
  type AllowedAnnouncement,
  busyRefusal,
  isAsAnnounced,
  isRepeated,
  lockableIntent,
  pendingChange,
  pendingObserved,
  pendingOf,
} from './pending.ts';
import { keysToSettle, ranWithoutLayer, settleByBytes, settleHost } from './settle.ts';
import { judgeChanges } from './vet-command.ts';
import { type ComingLine, destructionOf, isRepeatedLine, lineEvidence } from './would-destroy.ts';

/**
 * Maximum number of tries to announce a change. Links and folders may change before they are
 * locked. Then the next try locks more keys. After the last try, the change is refused.
 */
const MAX_TRIES = 5;

const MAX_COMMAND_CHARS = 1000;

/** Maximum number of a session's completed calls to search in the journal. */
const MAX_SEARCHED = 200;

type AnnounceOutcome = Outcome<{ readonly change: string; readonly notices: readonly Notice[] }>;
type Settled = Outcome<{ readonly notices: readonly Notice[] }>;

/** The options of `announce`, and the times at which the call arrived and was answered. */
interface TimedAnnounceOptions extends AnnounceOptions {
  readonly times?: ClientCall | undefined;
}

/**
 * Another program's change that is stored as pending. This process holds the locks of its files.
 */
interface OpenChange {
  readonly pending: PendingChange;
  readonly credits: readonly Sighting[];
  readonly untold: readonly Sighting[];
  readonly times: ClientCall | undefined;
  release(): void;
}

type OnOthers =
  | { readonly refusal: Refusal }
  | { readonly claimNotices: readonly ClaimNotice[]; readonly entries: readonly NewEntry[] };

/** Judges other programs' changes before they are made, then records their results (settles). */
export class Announcements {
  readonly #scene: ShownScene;
  readonly #refusals: Refusals;
  readonly #open = new Map<string, OpenChange>();

  constructor(scene: ShownScene, refusals: Refusals) {
    this.#scene = scene;
    this.#refusals = refusals;
  }

  /** Judges changes under the locks of their files. If all are allowed, stores them and the bytes they destroy. */
  async announce(given: readonly HostIntent[], options: TimedAnnounceOptions = {}): Promise<AnnounceOutcome> {
    const intents = joinedChanges(given);
    const isSame = (pending: PendingChange): boolean => isRepeated(pending, intents);
    const known = options.call === undefined ? undefined : await this.#announcedAs(options.call, isSame);
    // If its files have changed since, the call is judged again. `lockKeys` settles the earlier
    // announcement then.
    if (known !== undefined && (await isAsAnnounced(this.#scene.world, known))) return this.#again(known);
    const keys = keysOf(this.#scene.world, intents.map(lockableIntent));
    if (!keys.ok) return this.#refuse([keys], options);
    let locked = keys.keys;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { world, knowledge } = this.#scene;
      const release = await lockKeys(world, locked, { session: knowledge.session });
      if (release === undefined) break;
      const outcome = await this.#announceLocked(intents, options, { locked, release });
      if (!('needs' in outcome)) return outcome;
      locked = [...locked, ...outcome.needs];
    }
    return this.#refuse([{ refusal: busyRefusal(intents) }], options);
  }

  /** Stores the bytes that a host's shell command may destroy, before the command runs. Holds no lock. */
  async announceCommand(
    text: string,
    {
      call,
      harm = shellLine(text).harm(),
      writes = [],
      moves = [],
      outside,
      layer: asked = 'possible',
    }: CommandOptions,
  ): Promise<string> {
    const known = call === undefined ? undefined : await this.#announcedAs(call);
    if (known !== undefined && !(await this.#isOutdated(known))) return known.change;
    const { world } = this.#scene;
    const atMs = world.now();
    const change = newChangeId();
    const isMissed = asked === 'expected' && (await ranWithoutLayer(this.#scene));
    const layer = isMissed ? 'possible' : asked;
    const {
      deltas,
      writes: kept,
      command,
    } = await keepBytesBefore(this.#scene, {
      change,
      text,
      harm,
      writes,
      moves,
      outside,
      layer,
    });
    const title = clip(withoutSecrets(text), MAX_COMMAND_CHARS);
    const coming = { change, deltas, call, atMs, action: 'run', path: '.', text: title } as const;
    // If the command then runs on a layer, `moveCommand` notes that in this record.
    await announce(world, pendingChange(this.#scene, coming, { writes: kept, command }));
    // Store the bytes again: a clean-up may have removed those stored before the announcement.
    await keepBefore(world, deltas, 'here');
    return change;
  }

  /** Stores refused changes as pending: under `mode: observe` they are made all the same. */
  async announceObserved(intents: readonly HostIntent[], call: string | undefined): Promise<void> {
    const known = call === undefined ? undefined : await this.#announcedAs(call);
    if (known !== undefined && !(await this.#isOutdated(known))) return;
    const { world } = this.#scene;
    const pending = await pendingObserved(this.#scene, { intents, call });
    if (pending === undefined) return;
    await announce(world, pending);
    await keepBefore(world, pending.entry.deltas);
  }

  /**
   * Records which sub-agent makes a call to our MCP server. The client tells the server only the
   * call's id.
   */
  async announceOwnCall(call: string): Promise<void> {
    const { world } = this.#scene;
    const coming = { change: newChangeId(), deltas: [], call, atMs: world.now() };
    await announce(world, pendingChange(this.#scene, coming));
  }

  /**
   * Judges whether a shell command may make its changes, and what else it would destroy. A refused
   * line may run if the session repeats it in this turn and the same things are at risk. `held`: see
   * `judgeChanges`.
   */
  async vetCommand(
    changes: readonly ShellChange[],
    coming: ComingLine,
  ): Promise<Outcome<{ readonly held?: ReadonlySet<ShellChange> }>> {
    const { denied, held } = await judgeChanges(this.#scene, { ...coming, changes }, (judged) =>
      this.#othersOn(judged),
    );
    if (denied.length > 0) return this.#refuse(denied, { hold: 'none' });
    const refusal = await destructionOf(this.#scene, coming, changes);
    if (refusal === undefined) return { ok: true, held };
    if (refusal.code === 'PROTECTED') return this.refuse(refusal);
    const evidence = lineEvidence(coming, refusal);
    const mayRun = refusal.next === 'repeat' && (await isRepeatedLine(this.#scene, coming, evidence));
    return mayRun ? { ok: true, held } : this.#refuse([{ refusal, evidence }], { hold: 'none' });
  }

  /** Records the refusal of a call that concerns no file of the workspace. */
  refuse(refusal: Refusal): Promise<Outcome<object>> {
    return this.#refuse([{ refusal }], { hold: 'none' });
  }

  /** Judges and stores the changes. Releases the locks, unless they must be held until the changes are made. */
  async #announceLocked(
    intents: readonly HostIntent[],
    options: TimedAnnounceOptions,
    { locked, release }: { readonly locked: readonly string[]; release(): void },
  ): Promise<AnnounceOutcome | { readonly needs: readonly string[] }> {
    let isHeld = false;
    try {
      const judged = await judgeAll(this.#sceneIn(options), intents);
      if (!judged.ok) return await this.#refuse(judged.denied, options);
      const keys = judged.deltas.flatMap(endsOf);
      const needs = notLocked(keys, locked);
      if (needs.length > 0) return { needs };
      const told = await this.#othersOn(judged);
      if ('refusal' in told) return await this.#refuse([told], options);
      const notices = withClaimNotices(judged.notices, told.claimNotices);
      const entries = [...told.entries, ...told.claimNotices.map(({ entry }) => entry)];
      const open = await this.#opened({ intents, judged: { ...judged, notices }, options, locked }, entries);
      for (const { confirm } of told.claimNotices) confirm();
      const { change, host } = open.pending;
      isHeld = host?.hold === 'lock';
      if (isHeld) this.#open.set(change, { ...open, release });
      return { ok: true, change, notices: host?.untold === undefined ? notices : [] };
    } finally {
      if (!isHeld) release();
    }
  }

  /**
   * Returns notices about other sessions' work on the files. Returns a refusal if that work forbids
   * the changes, or if the user's approval is missing. Here, only `lookfirst allow` approves.
   */
  async #othersOn({ deltas }: AllowedChanges): Promise<OnOthers> {
    const { world, knowledge } = this.#scene;
    const step = { action: 'edit', root: world.workspace.roots[0] ?? '' } as const;
    const approvals = await approvalsOf(world, knowledge, {
      steps: [{ ...step, deltas }],
      approved: new Map(),
    });
    if ('missing' in approvals) return { refusal: approvalRefusal(approvals.missing) };
    const told = await world.claims.onChange(knowledge, deltas, step);
    return 'refusal' in told ? told : { ...told, ...approvals };
  }

  /** Records a change's result. Loads the change from the store if another process put it there. */
  async settle(change: string, ending: ChangeEnding): Promise<Settled> {
    const open = this.#open.get(change);
    if (open === undefined) return this.#settleStored(change, ending);
    this.#open.delete(change);
    try {
      return { ok: true, notices: await settleHost(this.#scene, open.pending, { ...open, ending }) };
    } finally {
      open.release();
    }
  }

  /**
   * Records the results of changes that were announced without a lock and whose end no host has
   * reported. Compares the files to find these results.
   */
  async settleLeft(): Promise<void> {
    const { world, knowledge } = this.#scene;
    for (const pending of await world.store.pending({ here: true })) {
      if (pending.entry.session !== knowledge.session || pending.host?.hold !== 'none') continue;
      await this.#locked(pending, () => settleByBytes(this.#scene, pending, { untouched: 'settle' }));
    }
  }

  /** True if this process holds locks for a change that another program is about to make. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Records the result `unknown` for changes whose locks this process still holds. */
  async close(): Promise<void> {
    for (const change of [...this.#open.keys()]) await this.settle(change, 'unknown');
  }

  async #refuse(
    denied: readonly Pick<Denied, 'refusal' | 'credit' | 'evidence'>[],
    { hold, times }: Pick<TimedAnnounceOptions, 'hold' | 'times'>,
  ): Promise<AnnounceOutcome> {
    // Under `mode: observe` the model does not get the refusal, so the lines in it do not count as
    // seen. Only hooks observe: they announce changes without a lock.
    const isObserved = hold === 'none' && this.#scene.world.policy.mode === 'observe';
    const { knowledge } = this.#sceneIn({ times });
    const refusals: Refusal[] = [];
    for (const { credit, ...each } of denied) {
      const shown = credit === undefined || isObserved ? {} : { credit };
      const observed = isObserved ? ({ observed: true } as const) : {};
      refusals.push((await this.#refusals.record({ ...each, ...shown, ...observed, knowledge })).refusal);
    }
    const [first] = refusals;
    if (first === undefined) throw new Fault('MISUSE', 'a refusal without a reason');
    return refused(refusals.length === 1 ? first : passOn(first, { refusals }));
  }

  #sceneIn({ times }: Pick<TimedAnnounceOptions, 'times'>): ShownScene {
    return { ...this.#scene, knowledge: this.#scene.knowledge.during(times) };
  }

  /** True if the result of a call's change is recorded, in this process or in the journal. */
  async isSettled(call: string): Promise<boolean> {
    const { world, knowledge } = this.#scene;
    if (world.settledCalls.has(knowledge.session, call)) return true;
    const filter = { session: knowledge.session, kinds: ['change'], limit: MAX_SEARCHED } as const;
    return (await world.store.entries(filter)).some((entry) => entry.call === call);
  }

  /** The id of the change that a call is making. Undefined if its result is recorded already. */
  async changeOf(call: string): Promise<string | undefined> {
    return (await this.#announcedAs(call))?.change;
  }

  /** The newest pending change with this call id. The store returns them in no order. */
  async #announcedAs(
    call: string,
    isWanted: (pending: PendingChange) => boolean = () => true,
  ): Promise<PendingChange | undefined> {
    const { world, knowledge } = this.#scene;
    const pending = await world.store.pending({ here: true });
    return pending
      .filter(({ entry, host }) => entry.session === knowledge.session && host?.call === call)
      .filter(isWanted)
      .reduce<PendingChange | undefined>(
        (newest, each) => (newest !== undefined && newest.entry.atMs > each.entry.atMs ? newest : each),
        undefined,
      );
  }

  /**
   * True if files have changed since the host first announced this call. The earlier announcement is
   * then settled by bytes, and the caller must announce the call again.
   */
  async #isOutdated(known: PendingChange): Promise<boolean> {
    const { world } = this.#scene;
    const isWrite = known.host?.command === undefined;
    if (isWrite && (await isAsAnnounced(world, known))) return false;
    await this.#locked(known, () => settleByBytes(this.#scene, known, { untouched: 'leave' }));
    return isWrite || (await world.store.pending({ change: known.change })).length === 0;
  }

  /** The answer if the host announces the same call again: the same change id, and the notices that apply now. */
  async #again({ change, entry, host }: PendingChange): Promise<AnnounceOutcome> {
    if (host?.untold !== undefined) return { ok: true, change, notices: [] };
    const elsewhere = await changesElsewhere(this.#scene, entry.deltas);
    return { ok: true, change, notices: elsewhere.map(({ notice }) => notice) };
  }

  async #opened(to: AllowedAnnouncement, entries: readonly NewEntry[]): Promise<Omit<OpenChange, 'release'>> {
    const { world, knowledge } = this.#scene;
    const pending = pendingOf(this.#scene, to);
    const { change, host } = pending;
    const { credits, untold } = to.judged;
    const shown = { credits, untold, times: to.options.times };
    await announce(world, pending, entries);
    try {
      await keepBefore(world, pending.entry.deltas);
      for (const { key, expected } of to.judged.writes) {
        if (expected === undefined) continue;
        world.baselines.remember(expected.fingerprint, expected.bytes);
        // Store the expected bytes: without a lock, another process may compare the file with them.
        if (host?.hold === 'none') await keepBytesOf(world, key, expected);
      }
      // Without a lock, the caller shows the notices now, so record their lines as seen. With a
      // lock, the caller shows the notices after the change.
      if (host?.hold === 'none' && credits.length > 0) await knowledge.record(credits);
      return { pending, ...shown };
    } catch (error) {
      // Remove the planned change from the store, because it is not made. If this fails, the next
      // start of Lookfirst removes it.
      await world.store.record({ settle: [change] }).catch(() => undefined);
      throw error;
    }
  }

  async #settleStored(change: string, ending: ChangeEnding): Promise<Settled> {
    const { world, knowledge } = this.#scene;
    const pending = (await world.store.pending({ change }))[0];
    const mine = pending?.host !== undefined && pending.entry.session === knowledge.session;
    if (pending === undefined || !mine) return this.#settledAlready(change);
    if (pending.host?.hold === 'lock' && (await world.isAlive(pending.owner)))
      return refused(
        invalidArgument('settle', change, 'the process that announced it still runs and must settle it'),
      );
    const ended = { ending, credits: [] };
    const settled = await this.#locked(pending, () => settleHost(this.#scene, pending, ended));
    return settled === undefined
      ? refused({ code: 'BUSY', action: 'settle', path: pending.entry.path ?? '', next: 'retry_later' })
      : { ok: true, notices: settled };
  }

  /**
   * The answer for a change that is no longer pending. It is a success if the journal has the
   * change's result, and a refusal otherwise.
   */
  async #settledAlready(change: string): Promise<Settled> {
    const { world, knowledge } = this.#scene;
    const found = await world.store.entries({ change, session: knowledge.session, limit: 1 });
    if (found.length > 0) return { ok: true, notices: [] };
    return refused(
      invalidArgument(
        'settle',
        change,
        'this session has not announced that change, or that change ended without an effect',
      ),
    );
  }

  async #locked<T>(pending: PendingChange, work: () => Promise<T>): Promise<T | [] | undefined> {
    const { world } = this.#scene;
    const { change, entry } = pending;
    const how = { session: entry.session, unfinished: 'leave' } as const;
    const release = await lockKeys(world, keysToSettle(world, pending), how);
    if (release === undefined) return undefined;
    try {
      // Do nothing if another call or process has recorded the result first.
      return (await world.store.pending({ change })).length === 0 ? [] : await work();
    } finally {
      release();
    }
  }
}
