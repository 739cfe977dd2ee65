import type { Effect, NewEntry } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { FileIntent, ForeignIntent } from '../../model/intent.ts';
import type { Notice } from '../../model/results.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { Action } from '../../model/verdict.ts';
import { newChangeId } from '../announce.ts';
import { bypassEntries } from '../bypass-entries.ts';
import { keysOf } from '../keys.ts';
import { prepare } from '../prepare.ts';
import type { Denied } from '../prepared.ts';
import { sideAt } from '../side-at.ts';
import type { Step } from '../step.ts';
import { effectsWhereNothingIs } from './absent.ts';
import { changedElsewhere, keepBefore } from './bytes.ts';
import type { Scene } from './shown.ts';
import { judgeTouch } from './touch.ts';

/** A change that another server is making; its files are locked for everyone who shares our state. */
export interface OpenChange {
  readonly change: string;
  readonly intents: readonly ForeignIntent[];
  readonly entry: NewEntry;
  /** What the journal is to say of the operator's bypass. */
  readonly bypasses: readonly NewEntry[];
  /** What the notices that go with the answer show of the files. */
  readonly credits: readonly Sighting[];
  /** False: the policy lets changes go on although the journal cannot be written. */
  readonly recorded: boolean;
  release(): void;
}

export type PreparedForeign =
  | { readonly ok: true; readonly open: OpenChange; readonly notices: readonly Notice[] }
  | { readonly ok: false; readonly denied: readonly Denied[] };

/** Judges every change under the locks of its files; if all may be done, keeps what they would destroy and announces them. */
export async function prepareForeign(
  scene: Scene,
  intents: readonly ForeignIntent[],
): Promise<PreparedForeign> {
  const { world } = scene;
  const keys = keysOf(world, intents.map(lockable));
  if (!keys.ok) return { ok: false, denied: [keys] };
  const release = await world.locks.acquire(keys.keys, world.policy.lockTimeoutMs);
  if (release === undefined) return { ok: false, denied: [busy(intents)] };
  try {
    const judged = await judgeAll(scene, intents);
    if (judged.ok) return { ok: true, ...(await announce(scene, { ...judged, intents, release })) };
    release();
    return judged;
  } catch (error) {
    release();
    throw error;
  }
}

interface Allowed {
  readonly ok: true;
  readonly effects: readonly Effect[];
  readonly bypassed: readonly Bypassed[];
  readonly notices: readonly Notice[];
  readonly credits: readonly Sighting[];
}

async function judgeAll(
  scene: Scene,
  intents: readonly ForeignIntent[],
): Promise<Allowed | { readonly ok: false; readonly denied: readonly Denied[] }> {
  const effects: Effect[] = [];
  const bypassed: Bypassed[] = [];
  const notices: Notice[] = [];
  const credits: Sighting[] = [];
  const denied: Denied[] = [];
  for (const intent of intents) {
    const judged = await judgeOne(scene, intent);
    if (!judged.ok) {
      denied.push(judged);
      continue;
    }
    effects.push(...judged.effects);
    if (judged.bypassed !== undefined) {
      bypassed.push(judged.bypassed);
      notices.push(...judged.bypassed.notices);
    }
    for (const effect of judged.effects) {
      const elsewhere = await changedElsewhere(scene, effect);
      if (elsewhere === undefined) continue;
      notices.push(elsewhere.notice);
      credits.push(elsewhere.credit);
    }
  }
  return denied.length > 0 ? { ok: false, denied } : { ok: true, effects, bypassed, notices, credits };
}

type Judged =
  | { readonly ok: true; readonly effects: readonly Effect[]; readonly bypassed?: Bypassed }
  | Denied;

/** A change that only the operator's bypass let through. */
interface Bypassed extends Pick<Step, 'action' | 'path'> {
  readonly notices: readonly Notice[];
}

async function judgeOne(scene: Scene, intent: ForeignIntent): Promise<Judged> {
  const judged = intent.kind === 'touch' ? await judgeTouch(scene, intent) : await judgeFile(scene, intent);
  const effects = judged.ok ? undefined : await effectsWhereNothingIs(scene, intent, judged);
  return effects === undefined ? judged : { ok: true, effects };
}

async function judgeFile(scene: Scene, intent: FileIntent): Promise<Judged> {
  const prepared = await prepare(scene.world, scene.ledger, intent);
  if (!prepared.ok) return prepared;
  const { effects, path } = prepared.step;
  prepared.step.close();
  const by = bypassedBy(prepared.step);
  if (effects.length > 0) return { ok: true, effects, ...by };
  // Bytes that are there already will be written again, perhaps not as they are: looked at afterwards all the same.
  const side = await sideAt(scene.world, path.key);
  return {
    ok: true,
    effects: [{ key: path.key, relative: path.relative, before: side, after: side }],
    ...by,
  };
}

/** Of what a verdict tells, only this is about what another server does: our own ways of writing are not taken. */
function bypassedBy({ action, path, notices = [] }: Step): { readonly bypassed?: Bypassed } {
  const used = notices.filter((notice) => notice.kind === 'bypassed');
  return used.length === 0 ? {} : { bypassed: { action, path, notices: used } };
}

async function announce(
  { world, ledger }: Scene,
  allowed: Allowed & { readonly intents: readonly ForeignIntent[]; release(): void },
): Promise<{ open: OpenChange; notices: readonly Notice[] }> {
  const { intents, effects, bypassed, notices, credits, release } = allowed;
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
  const bypasses = bypassEntries(bypassed, { ...ledger.author, atMs: entry.atMs, change });
  const open = { change, intents, entry, bypasses, credits, release };
  try {
    await world.store.record({ announce: { change, entry, owner: world.owner } });
    for (const effect of effects) await keepBefore(world, effect);
    return { open: { ...open, recorded: true }, notices };
  } catch (error) {
    if (world.policy.auditFailure === 'refuse' || !(error instanceof Fault)) {
      // Nothing will happen to the files; if this cannot be written either, the next start finds them unchanged.
      await world.store.record({ settle: [change] }).catch(() => undefined);
      throw error;
    }
    return { open: { ...open, recorded: false }, notices: [...notices, { kind: 'not-recorded' }] };
  }
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

function busy(intents: readonly ForeignIntent[]): Denied {
  const [first] = intents;
  const path = first === undefined ? '' : first.kind === 'move' ? first.destination : first.path;
  return { ok: false, refusal: { code: 'BUSY', action: 'overwrite', path, next: 'retry_later' } };
}
