import type { ClientCall } from '../model/call.ts';
import type { FileIntent, HostIntent, Intent } from '../model/intent.ts';
import type { ApplyResult, Notice, WitnessEvent } from '../model/results.ts';
import type { AnnounceOptions, ChangeEnding } from '../model/session.ts';
import {
  type Outcome,
  passOn,
  type Refusal,
  type RefusalCode,
  type Refused,
  refused,
} from '../model/verdict.ts';
import { describeNotice } from '../report/describe-notice.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { applyTold, worldFor } from './apply.ts';
import { type Approved, approvalRefusal, askUser, type MissingApproval } from './approval.ts';
import { Announcements } from './host/announcements.ts';
import { keysOf, lockKeys, pathsOf } from './keys.ts';
import type { ChangePlan } from './plan.ts';
import { prepare, prepareAll } from './prepare.ts';
import type { Evidence } from './prepared.ts';
import { Refusals } from './refusals.ts';
import { type ReadEvent, shown } from './shown.ts';
import { actionOf, validateAnnouncement, validateEnding, validateEvent, validateIntent } from './validate.ts';
import { witness } from './witness.ts';
import { type CallSettings, entryHead, type World, withSettings } from './world.ts';

/**
 * Maximum number of tries of a change. A try may find that it needs more locks, because links or
 * folders changed before they were locked. The next try takes these locks too. After the last try,
 * the change is refused.
 */
const MAX_TRIES = 5;

/**
 * A change is refused when it has met this many conflicts: another program changed the file during
 * the write. After each earlier conflict, the gate prepares and judges the change again.
 */
const MAX_CONFLICTS = 6;
/** Conflicts that another try may resolve. */
const MOMENTARY: ReadonlySet<RefusalCode> = new Set(['STALE', 'DELETED', 'ALREADY_EXISTS']);

/**
 * The only way to change a file. `vet` judges, `perform` judges and acts under one lock, `witness` records actions of
 * other programs. `perform` judges again, because minutes may pass after a `vet`.
 */
export class Gate {
  readonly refusals: Refusals;
  readonly announcements: Announcements;
  readonly #world: World;
  readonly #knowledge: Knowledge;

  constructor(world: World, knowledge: Knowledge) {
    this.#world = world;
    this.#knowledge = knowledge;
    this.refusals = new Refusals(world, knowledge);
    this.announcements = new Announcements({ world, knowledge }, this.refusals);
  }

  /**
   * Judges whether this change is allowed, without making it. A refusal is counted and journalled, but the lines it
   * shows do not count as seen.
   */
  async vet(intent: Intent, times?: ClientCall): Promise<Outcome<{ notices: readonly Notice[] }>> {
    const wrong = validateIntent(intent);
    if (wrong !== undefined) return this.#refuse(wrong);
    const knowledge = this.#knowledge.during(times);
    const changes = changesOf(intent);
    const keys = keysOf(this.#world, changes);
    if (!keys.ok) return this.#refuse(keys.refusal);
    const notices: Notice[] = [];
    const refusals: Refusal[] = [];
    for (const change of changes) {
      const prepared = await prepare(this.#world, knowledge, change, changes);
      if (prepared.ok) notices.push(...prepared.plan.result.notices);
      else refusals.push((await this.#refuse(prepared.refusal, prepared.evidence)).refusal);
    }
    const refusal = combined(intent, refusals);
    return refusal === undefined ? { ok: true, notices } : refused(refusal);
  }

  /**
   * Judges every change, then makes all of them or none, under the locks of all their files.
   * `times`: lines shown after the call arrived do not count as seen. `signal`: can abort the call
   * until the first file is touched.
   */
  async perform(
    intent: Intent,
    { times, signal, settings }: Partial<Pick<AttemptInput, 'times' | 'signal' | 'settings'>> = {},
  ): Promise<Outcome<ApplyResult>> {
    const wrong = validateIntent(intent);
    if (wrong !== undefined) return this.#refuse(wrong);
    const changes = changesOf(intent);
    const keys = keysOf(this.#world, changes);
    if (!keys.ok) return this.#refuse(keys.refusal);
    let locked = keys.keys;
    const met: Refusal[] = [];
    const approved: Approved = new Map();
    const knowledge = this.#knowledge.during(times);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const release = await lockKeys(this.#world, locked, { knowledge });
      if (release === undefined) break;
      const attempt = { intent, changes, locked, signal, settings, approved, release };
      const outcome = await this.#performLocked(knowledge, attempt);
      if ('ok' in outcome) return met.length === 0 ? outcome : this.#withMet(outcome, met);
      if ('needs' in outcome) locked = [...locked, ...outcome.needs];
      // Count only tries that lacked locks. This one met a conflict or a missing approval.
      else tries -= 1;
      const final = await this.#finalAfter(outcome, { met, approved, times });
      if (final !== undefined) return final;
    }
    return refused(busy(changes));
  }

  /**
   * Asks the user for a missing approval, or records a conflict. Returns the final answer, or
   * undefined if another try may help.
   */
  async #finalAfter(
    attempt: Unfinished,
    { met, approved, times }: Pick<AttemptInput, 'approved' | 'times'> & { readonly met: Refusal[] },
  ): Promise<Outcome<ApplyResult> | undefined> {
    if ('needs' in attempt) return undefined;
    if ('missing' in attempt) {
      const answer = await askUser(attempt.missing, approved, times);
      return answer === 'approved' ? undefined : this.#refuse(approvalRefusal(attempt.missing, answer));
    }
    await this.#noteMet(attempt.conflict, met);
    return isFinal(met) ? this.#withMet(refused(attempt.conflict), met) : undefined;
  }

  /** Adds to the answer where to find the versions that other programs saved during the write. */
  async #withMet(outcome: Outcome<ApplyResult>, met: readonly Refusal[]): Promise<Outcome<ApplyResult>> {
    const kept = met.flatMap(({ detail }) => detail?.kept ?? []);
    if (!outcome.ok) {
      const [last] = met.slice(-1);
      const { refusal } = outcome;
      // Record the refusal of a conflict here. A refusal by the judge is already recorded.
      const told = refusal === last ? (await this.#refuse(refusal)).refusal : refusal;
      return refused(kept.length === 0 ? told : passOn(told, { kept }));
    }
    if (kept.length === 0) return outcome;
    const notices = metSaves(met);
    const [first, ...others] = outcome.results;
    if (first === undefined) return outcome;
    return { ...outcome, results: [{ ...first, notices: [...first.notices, ...notices] }, ...others] };
  }

  /** Records immediately that another program saved the file during the write, so that the user can find that save. */
  async #noteMet(conflict: Refusal, met: Refusal[]): Promise<void> {
    met.push(conflict);
    const { workspace, store } = this.#world;
    const [notice] = metSaves([conflict]);
    if (notice === undefined) return;
    const resolved = workspace.resolve(conflict.path, 'undo');
    const at = resolved.ok
      ? { root: resolved.path.root, path: resolved.path.relative }
      : { path: conflict.path };
    const head = entryHead(this.#world, this.#knowledge);
    const entry = { kind: 'notice', ...head, ...at, text: describeNotice(notice) } as const;
    await store.record({ entries: [entry] });
  }

  /**
   * Judges changes that another program is about to make. If all are allowed, stores them as
   * pending, and stores the bytes that they destroy.
   */
  announce(
    intents: readonly HostIntent[],
    options: AnnounceOptions,
    times?: ClientCall,
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>> {
    const wrong = validateAnnouncement(intents, options);
    if (wrong !== undefined) return this.#refuse(wrong);
    if (times !== undefined) times.tool = options.tool;
    return this.announcements.announce(intents, { ...options, times });
  }

  /** Records the result of a change for which `announce` returned the id. */
  settle(change: string, ending: ChangeEnding): Promise<Outcome<{ notices: readonly Notice[] }>> {
    const wrong = validateEnding(change, ending);
    return wrong === undefined ? this.announcements.settle(change, ending) : this.#refuse(wrong);
  }

  /** Records what other programs read, wrote or ran, so that later verdicts are right. */
  async witness(event: WitnessEvent, times?: ClientCall): Promise<Outcome<{ notices: readonly Notice[] }>> {
    const wrong = validateEvent(event);
    if (wrong !== undefined) return this.#refuse(wrong);
    return event.kind === 'read' ? this.shown(event, times) : witness(this.#world, this.#knowledge, event);
  }

  /**
   * Records what another program's read showed. A read of the present bytes resets the count of the
   * path's refusals.
   */
  async shown(event: ReadEvent, times?: ClientCall): Promise<Outcome<{ notices: readonly Notice[] }>> {
    const scene = { world: this.#world, knowledge: this.#knowledge.during(times) };
    const seen = await shown(scene, event);
    if (!seen.ok) return seen;
    if (!seen.current) return { ok: true, notices: [] };
    if (seen.credited) this.refusals.reset(event.path);
    const { claims, workspace } = this.#world;
    const told = await claims.onRead(this.#knowledge, () => workspace.resolve(event.path, 'status'));
    return { ok: true, notices: told };
  }

  async #refuse(refusal: Refusal, evidence?: Evidence): Promise<Refused> {
    return refused((await this.refusals.record({ refusal, evidence })).refusal);
  }

  /** One try under the locks, which it releases. */
  async #performLocked(
    knowledge: Knowledge,
    { intent, changes, locked, signal, settings, approved, release }: AttemptedChanges,
  ): Promise<Attempt> {
    try {
      const given = withSettings(this.#world, settings);
      const world = changes.length === 1 ? given : await worldFor(given, changes.length);
      const prepared = await prepareAll(world, knowledge, changes);
      const refusals: Refusal[] = [];
      for (const item of prepared)
        if (!item.ok) refusals.push((await this.refusals.record({ ...item, knowledge })).refusal);
      const refusal = combined(intent, refusals);
      if (refusal !== undefined) return refused(refusal);
      const plans = prepared.flatMap((item) => (item.ok ? [item.plan] : []));
      if (intent.kind === 'apply' && intent.dryRun === true) return { ok: true, ...dryRun(plans) };
      const outcome = await applyTold(world, knowledge, { plans, locked, approved, signal });
      if ('busy' in outcome) return await this.#refuse(outcome.busy);
      if (!('ok' in outcome && outcome.ok)) return outcome;
      this.refusals.resetAll(changes.flatMap(pathsOf));
      return outcome;
    } finally {
      release();
    }
  }
}

interface AttemptInput {
  readonly locked: readonly string[];
  readonly signal: AbortSignal | undefined;
  /**
   * Times at which the call arrived and was answered. Lines shown in between do not count as seen.
   * Absent if the client waits for each answer before its next call.
   */
  readonly times?: ClientCall | undefined;
  /** Policy settings of this call alone. */
  readonly settings?: CallSettings | undefined;
  /** The user's approvals so far. The user is asked without holding locks, because the answer may take minutes. */
  readonly approved: Approved;
}

interface AttemptedChanges extends AttemptInput {
  readonly intent: Intent;
  readonly changes: readonly FileIntent[];
  release(): void;
}

/** The result of one try: an answer, missing locks, a missing approval, or a conflict with another program. */
type Attempt = Outcome<ApplyResult> | Unfinished;

type Unfinished =
  | { readonly needs: readonly string[] }
  | { readonly conflict: Refusal }
  | { readonly missing: MissingApproval };

/**
 * True if another try cannot resolve the last conflict, or if there were `MAX_CONFLICTS` conflicts.
 */
function isFinal(met: readonly Refusal[]): boolean {
  const last = met.at(-1);
  return met.length === MAX_CONFLICTS || last === undefined || !MOMENTARY.has(last.code);
}

function metSaves(met: readonly Refusal[]): readonly Notice[] {
  return met.flatMap(({ path, detail }): Notice[] =>
    detail?.kept === undefined ? [] : [{ kind: 'met-save', path, kept: detail.kept }],
  );
}

function changesOf(intent: Intent): readonly FileIntent[] {
  return intent.kind === 'apply' ? intent.changes : [intent];
}

/** Combines the refusals of a batch into one that names every refused file. */
function combined(intent: Intent, refusals: readonly Refusal[]): Refusal | undefined {
  const [first] = refusals;
  if (first === undefined || intent.kind !== 'apply' || refusals.length === 1) return first;
  return passOn(first, { refusals });
}

function busy(changes: readonly FileIntent[]): Refusal {
  const [first] = changes;
  const path = first === undefined ? '' : 'path' in first ? first.path : first.destination;
  return { code: 'BUSY', action: actionOf(first?.kind), path, next: 'retry_later' };
}

function dryRun(plans: readonly ChangePlan[]): ApplyResult {
  return {
    dryRun: true,
    results: plans.map((plan) => ({
      path: plan.path.given,
      changed: plan.deltas.length > 0,
      created: plan.action === 'create' || plan.action === 'mkdir',
      sizeBytes: 0,
      ...plan.preview?.(),
      notices: plan.result.notices,
    })),
  };
}
