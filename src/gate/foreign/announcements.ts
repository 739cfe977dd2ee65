import type { Effect, NewEntry, PendingChange } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { FileIntent, ForeignIntent } from '../../model/intent.ts';
import type { Notice } from '../../model/results.ts';
import type { AnnounceOptions, ChangeEnding } from '../../model/session.ts';
import type { Sighting } from '../../model/sighting.ts';
import { type Action, type Outcome, type Refusal, refused } from '../../model/verdict.ts';
import { announce, newChangeId } from '../announce.ts';
import { bypassEntries } from '../bypass-entries.ts';
import { keysOf, notLocked } from '../keys.ts';
import type { Denied } from '../prepared.ts';
import { lockKeys } from '../recover.ts';
import type { Refusals } from '../refusals.ts';
import { keepBefore } from './bytes.ts';
import { type AllowedChanges, changesElsewhere, judgeAll } from './judge-all.ts';
import { settleByBytes, settleForeign } from './settle.ts';
import type { Scene } from './shown.ts';

/** Links and folders may change between locking and looking; then what is needed now is locked. */
const MAX_TRIES = 5;

type Announced = Outcome<{ readonly change: string; readonly notices: readonly Notice[] }>;
type Settled = Outcome<{ readonly notices: readonly Notice[] }>;

/** A change that this process has announced, and holds the locks of. */
interface OpenChange {
  readonly pending: PendingChange;
  readonly credits: readonly Sighting[];
  /** False: the policy lets changes go on although the journal cannot be written. */
  readonly announced: boolean;
  release(): void;
}

/** Changes that other programs make for one session: judged and announced before, settled after. */
export class Announcements {
  readonly #scene: Scene;
  readonly #refusals: Refusals;
  readonly #open = new Map<string, OpenChange>();

  constructor(scene: Scene, refusals: Refusals) {
    this.#scene = scene;
    this.#refusals = refusals;
  }

  /** Judges the changes under the locks of their files; if all may be made, keeps what they destroy and stores them. */
  async announce(intents: readonly ForeignIntent[], options: AnnounceOptions = {}): Promise<Announced> {
    const known = options.call === undefined ? undefined : await this.#announcedAs(options.call);
    if (known !== undefined) return this.#again(known);
    const keys = keysOf(this.#scene.world, intents.map(lockable));
    if (!keys.ok) return this.#refuse([keys]);
    let locked = keys.keys;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const release = await lockKeys(this.#scene.world, locked);
      if (release === undefined) break;
      const outcome = await this.#announceLocked(intents, options, { locked, release });
      if (!('needs' in outcome)) return outcome;
      locked = [...locked, ...outcome.needs];
    }
    return this.#refuse([{ refusal: busy(intents) }]);
  }

  /** Releases the locks, unless the announced change is to hold them. */
  async #announceLocked(
    intents: readonly ForeignIntent[],
    options: AnnounceOptions,
    { locked, release }: { readonly locked: readonly string[]; release(): void },
  ): Promise<Announced | { readonly needs: readonly string[] }> {
    let isHeld = false;
    try {
      const judged = await judgeAll(this.#scene, intents);
      if (!judged.ok) return await this.#refuse(judged.denied);
      const keys = judged.effects.map(({ key }) => key);
      const needs = notLocked(keys, locked);
      if (needs.length > 0) return { needs };
      const open = await this.#opened({ intents, judged, options, locked });
      const { change, foreign } = open.pending;
      isHeld = foreign?.hold === 'lock';
      if (isHeld) this.#open.set(change, { ...open, release });
      const unrecorded: readonly Notice[] = open.announced ? [] : [{ kind: 'not-recorded' }];
      return { ok: true, change, notices: [...judged.notices, ...unrecorded] };
    } finally {
      if (!isHeld) release();
    }
  }

  /** Records what became of an announced change. One that another process announced is found in the store. */
  async settle(change: string, ending: ChangeEnding): Promise<Settled> {
    const open = this.#open.get(change);
    if (open === undefined) return this.#settleStored(change, ending);
    this.#open.delete(change);
    try {
      return { ok: true, notices: await settleForeign(this.#scene, open.pending, { ...open, ending }) };
    } finally {
      open.release();
    }
  }

  /** Settles what this session has announced without a lock and not settled, by comparing bytes. */
  async settleLeft(): Promise<void> {
    const { world, ledger } = this.#scene;
    for (const pending of await world.store.pending()) {
      if (pending.entry.session !== ledger.session || pending.foreign?.hold !== 'none') continue;
      await this.#locked(pending, () => settleByBytes(this.#scene, pending, { untouched: 'settle' }));
    }
  }

  /** Something is announced, and its files are locked. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Settles what this process still holds: whether it was done is not known. */
  async close(): Promise<void> {
    for (const change of [...this.#open.keys()]) await this.settle(change, 'unknown');
  }

  async #refuse(denied: readonly Pick<Denied, 'refusal' | 'credit'>[]): Promise<Announced> {
    const refusals: Refusal[] = [];
    for (const each of denied) refusals.push((await this.#refusals.record(each)).refusal);
    const [first] = refusals;
    if (first === undefined) throw new Fault('MISUSE', 'a refusal without a reason');
    return refused(refusals.length === 1 ? first : { ...first, detail: { ...first.detail, refusals } });
  }

  async #announcedAs(call: string): Promise<PendingChange | undefined> {
    const { world, ledger } = this.#scene;
    const pending = await world.store.pending();
    return pending.find(({ entry, foreign }) => entry.session === ledger.session && foreign?.call === call);
  }

  /** The answer to a call that is announced already: the same change, and what is to be told of it now. */
  async #again({ change, entry }: PendingChange): Promise<Announced> {
    const elsewhere = await changesElsewhere(this.#scene, entry.effects ?? []);
    return { ok: true, change, notices: elsewhere.map(({ notice }) => notice) };
  }

  async #opened(to: Opening): Promise<Omit<OpenChange, 'release'>> {
    const { world, ledger } = this.#scene;
    const pending = pendingOf(this.#scene, to);
    const { change, foreign } = pending;
    const announced = await announce(world, pending);
    try {
      for (const effect of pending.entry.effects ?? []) await keepBefore(world, effect);
      for (const { expected } of to.judged.writes) {
        if (expected === undefined) continue;
        world.baselines.remember(expected.fingerprint, expected.bytes);
        // Another process will compare what is there with them.
        if (foreign?.hold === 'none')
          await world.images.keepBytes(expected.bytes, expected.fingerprint, 'none');
      }
      // A caller that holds no lock shows the notices at once; a lock's holder shows them when the change is done.
      if (foreign?.hold === 'none' && to.judged.credits.length > 0) await ledger.record(to.judged.credits);
      return { pending, credits: to.judged.credits, announced };
    } catch (error) {
      if (world.policy.auditFailure === 'allow' && error instanceof Fault)
        return { pending, credits: to.judged.credits, announced: false };
      // Nothing will happen to the files; if this cannot be written either, the next start finds them unchanged.
      await world.store.record({ settle: [change] }).catch(() => undefined);
      throw error;
    }
  }

  async #settleStored(change: string, ending: ChangeEnding): Promise<Settled> {
    const { world, ledger } = this.#scene;
    const pending = (await world.store.pending({ change }))[0];
    const mine = pending?.foreign !== undefined && pending.entry.session === ledger.session;
    if (pending === undefined || !mine) return this.#settledAlready(change);
    if (pending.foreign?.hold === 'lock' && (await world.isAlive(pending.owner)))
      return refused(notSettled(change, 'the process that announced it holds it'));
    const settled = await this.#locked(pending, async () => {
      // Another process may have been faster.
      if ((await world.store.pending({ change })).length === 0) return [];
      return settleForeign(this.#scene, pending, { ending, announced: true, credits: [] });
    });
    return settled === undefined
      ? refused({ code: 'BUSY', action: 'status', path: pending.entry.path ?? '', next: 'retry_later' })
      : { ok: true, notices: settled };
  }

  /** Another writer, or the passing of time, may have settled it; then the journal has it. */
  async #settledAlready(change: string): Promise<Settled> {
    const { world, ledger } = this.#scene;
    const found = await world.store.entries({ change, session: ledger.session, limit: 1 });
    if (found.length > 0) return { ok: true, notices: [] };
    return refused(
      notSettled(change, 'this session has announced no such change, or it was settled without an effect'),
    );
  }

  async #locked<T>({ entry }: PendingChange, work: () => Promise<T>): Promise<T | undefined> {
    const { locks, policy } = this.#scene.world;
    const keys = (entry.effects ?? []).map(({ key }) => key);
    const release = await locks.acquire(keys, policy.lockTimeoutMs);
    if (release === undefined) return undefined;
    try {
      return await work();
    } finally {
      release();
    }
  }
}

interface Opening {
  readonly intents: readonly ForeignIntent[];
  readonly judged: AllowedChanges;
  readonly options: AnnounceOptions;
  readonly locked: readonly string[];
}

function pendingOf({ world, ledger }: Scene, { intents, judged, options, locked }: Opening): PendingChange {
  const { effects, writes, bypassed } = judged;
  const { hold = 'lock', call } = options;
  const change = newChangeId();
  const [first] = effects;
  const [intent] = intents;
  const entry: NewEntry = {
    kind: 'change',
    atMs: world.now(),
    ...ledger.author,
    root: world.workspace.roots[0] ?? '',
    ...(intent === undefined ? {} : { action: actionOf(intent, first) }),
    ...(first === undefined ? {} : { path: first.relative }),
    change,
    effects,
  };
  return {
    change,
    entry,
    owner: world.owner,
    ...(hold === 'lock' ? { locked } : {}),
    foreign: {
      hold,
      ...(call === undefined ? {} : { call }),
      writes: writes.map(({ key, text }) => ({ key, text })),
      bypasses: bypassEntries(bypassed, { ...ledger.author, atMs: entry.atMs, change }),
    },
  };
}

function actionOf(intent: ForeignIntent, first: Effect | undefined): Action {
  const creates = first?.before.kind === 'absent';
  if (intent.kind === 'touch') return creates ? 'create' : 'edit';
  if (intent.kind === 'write') return creates ? 'create' : 'overwrite';
  return intent.kind;
}

function lockable(intent: ForeignIntent): FileIntent {
  return intent.kind === 'touch' ? { kind: 'edit', path: intent.path, edits: [] } : intent;
}

function busy(intents: readonly ForeignIntent[]): Refusal {
  const [first] = intents;
  const path = first === undefined ? '' : first.kind === 'move' ? first.destination : first.path;
  return { code: 'BUSY', action: 'overwrite', path, next: 'retry_later' };
}

function notSettled(change: string, reason: string): Refusal {
  return {
    code: 'INVALID_ARGUMENT',
    action: 'status',
    path: change,
    next: 'fix_argument',
    detail: { reason },
  };
}
