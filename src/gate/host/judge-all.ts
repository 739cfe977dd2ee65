import { fingerprintOf } from '../../disk/read.ts';
import { judge } from '../../judge/judge.ts';
import { type LineRange, NOTHING } from '../../model/coverage.ts';
import { ABSENT, byPath, type Delta, microseconds, type State } from '../../model/delta.ts';
import type { HostWrite } from '../../model/entry.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import type { FileIntent, HostIntent, TouchIntent } from '../../model/intent.ts';
import { defined } from '../../model/record.ts';
import type { Notice } from '../../model/results.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { Refusal, RefusalOf } from '../../model/verdict.ts';
import { countFileLines } from '../../text/file-lines.ts';
import { fileState, sideAt, sideOf, snapshotAt } from '../found.ts';
import { guardUnknown } from '../guarded-files.ts';
import { type LookedFile, look } from '../look.ts';
import { type ChangePlan, deltasOfPlan } from '../plan.ts';
import { judgeGranted, prepare } from '../prepare.ts';
import { creditFor, type Denied, evidenceOf, notPrepared, outsideChange, withCure } from '../prepared.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';

/** Allowed changes of another program, with their expected deltas. */
export interface AllowedChanges {
  readonly ok: true;
  readonly deltas: readonly Delta[];
  readonly writes: readonly ExpectedWrite[];
  readonly bypassed: readonly Bypassed[];
  readonly notices: readonly Notice[];
  /** The lines that the notices show. They count as seen. */
  readonly credits: readonly Sighting[];
  /** The lines that count as seen until the notices are sent, of the same files. */
  readonly untold: readonly Sighting[];
}

/**
 * A file whose text changes. `expected`: the bytes that the file will have, if they follow from the
 * caller's text.
 */
interface ExpectedWrite extends HostWrite {
  readonly expected?: { readonly bytes: Uint8Array; readonly fingerprint: Fingerprint };
}

/** A change that is allowed only because a bypass rule or a grant of the operator exempts it. */
interface Bypassed extends Pick<ChangePlan, 'action' | 'path'> {
  readonly notices: readonly Notice[];
}

/**
 * Joins an edit or an append of a file with later changes of the same file, so that they are judged
 * as one change. A patch, for example, edits a file and then moves it. The joined change leaves
 * out appended text, because an append destroys nothing.
 */
export function joinedChanges(intents: readonly HostIntent[]): readonly HostIntent[] {
  const joined: HostIntent[] = [];
  for (const intent of intents) {
    const path = intent.kind === 'move' ? intent.source : intent.path;
    const at = joined.findIndex((each) => (isAppend(each) || each.kind === 'edit') && each.path === path);
    const earlier = joined[at];
    const both = earlier && joinedWith(earlier, intent);
    if (both === undefined) joined.push(intent);
    else joined[at] = both;
  }
  return joined;
}

/** Joins two changes of one file. Undefined if the later change must be judged by itself. */
function joinedWith(earlier: HostIntent, later: HostIntent): HostIntent | undefined {
  if (isAppend(earlier) && later.kind === 'move')
    return joinedWith({ kind: 'edit', path: earlier.path, edits: [] }, later);
  if (earlier.kind !== 'edit' || earlier.moveTo !== undefined) return undefined;
  if (later.kind === 'edit') return { ...earlier, ...later, edits: [...earlier.edits, ...later.edits] };
  if (later.kind === 'move')
    return later.overwrite === false ? undefined : { ...earlier, moveTo: later.destination };
  return isAppend(later) ? earlier : undefined;
}

function isAppend(intent: HostIntent): intent is Extract<HostIntent, { kind: 'insert' }> {
  return intent.kind === 'insert' && intent.afterLine === undefined;
}

/** Judges every change: all of them are allowed, or none. The caller must hold the locks of their files. */
export async function judgeAll(
  scene: ShownScene,
  intents: readonly HostIntent[],
): Promise<AllowedChanges | { readonly ok: false; readonly denied: readonly Denied[] }> {
  const allowed: Allowed[] = [];
  const denied: Denied[] = [];
  for (const intent of intents) {
    const judged = await judgeOne(scene, intent);
    if (judged.ok) allowed.push(judged);
    else denied.push(judged);
  }
  if (denied.length > 0) return { ok: false, denied };
  const deltas = allowed.flatMap((each) => each.deltas);
  const bypassed = allowed.flatMap((each) => each.bypassed ?? []);
  const warned = allowed.flatMap((each) => each.warned ?? []);
  const elsewhere = await changesElsewhere(
    scene,
    byPath(deltas).filter(({ key }) => !warned.some((one) => one.key === key)),
  );
  return {
    ok: true,
    deltas,
    writes: allowed.flatMap((each) => each.writes),
    bypassed,
    notices: [
      ...bypassed.flatMap(({ notices }) => notices),
      ...allowed.flatMap(({ unseen = [] }) => unseen),
      ...warned.flatMap(({ notices }) => notices),
      ...elsewhere.map(({ notice }) => notice),
    ],
    credits: elsewhere.map(({ credit }) => credit),
    untold: elsewhere.map(({ untold }) => untold),
  };
}

/** Notices that show the session what other programs changed in the files since it saw them. */
export async function changesElsewhere(
  scene: ShownScene,
  deltas: readonly Delta[],
): Promise<readonly ChangedElsewhere[]> {
  const found = [];
  for (const delta of byPath(deltas)) {
    const elsewhere = await changedElsewhere(scene, delta);
    if (elsewhere !== undefined) found.push(elsewhere);
  }
  return found;
}

/** What another writer changed in a file since the session saw it. */
interface ChangedElsewhere {
  readonly notice: Notice;
  readonly credit: Sighting;
  readonly untold: Sighting;
}

/**
 * The notice that shows a session what another writer changed in a file since the session saw it.
 * `credit`: the lines that count as seen once the notice is sent; `untold`: until then. Undefined
 * if there are no such changes.
 */
async function changedElsewhere(
  { world, knowledge }: ShownScene,
  { key, before }: Delta,
): Promise<ChangedElsewhere | undefined> {
  if (before.kind !== 'file') return undefined;
  const sighting = await knowledge.recall(key);
  if (sighting?.fingerprint === undefined) return undefined;
  if (sameFingerprint(sighting.fingerprint, before.fingerprint)) return undefined;
  const snapshot = await snapshotAt(world, key);
  const change = snapshot === undefined ? undefined : await outsideChange(world, sighting, snapshot);
  if (snapshot === undefined || change === undefined) return undefined;
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  const credit = creditFor(world, { sighting, snapshot, change });
  const ranges = change.stillSeen;
  return {
    notice: { kind: 'changed-elsewhere', diff: change.diff, truncated: change.truncated },
    credit,
    untold: { ...credit, coverage: ranges.length === 0 ? NOTHING : { kind: 'lines', ranges } },
  };
}

interface Allowed {
  readonly ok: true;
  readonly deltas: readonly Delta[];
  readonly writes: readonly ExpectedWrite[];
  readonly bypassed?: Bypassed;
  readonly unseen?: readonly Notice[];
  /** Set if the file has changed since it was seen but the policy still allows the change. */
  readonly warned?: { readonly key: string; readonly notices: readonly Notice[] };
}

async function judgeOne(scene: ShownScene, intent: HostIntent): Promise<Allowed | Denied> {
  const judged = intent.kind === 'touch' ? await judgeTouch(scene, intent) : await judgeFile(scene, intent);
  if (judged.ok) return judged;
  const deltas = await deltasWhereNothingIs(scene, intent, judged);
  return deltas === undefined ? judged : { ok: true, deltas, writes: unknownWrites(deltas) };
}

/** Writes whose text is known only after the other program has made them. */
function unknownWrites(deltas: readonly Delta[]): readonly ExpectedWrite[] {
  return deltas.map(({ key }) => ({ key, text: 'unknown' }));
}

async function judgeFile({ world, knowledge }: ShownScene, intent: FileIntent): Promise<Allowed | Denied> {
  const prepared = await prepare(world, knowledge, intent);
  if (!prepared.ok) return prepared;
  const { plan } = prepared;
  const write = expectedWrite(intent, plan);
  const by = { ...bypassedBy(plan), ...warnedBy(plan), unseen: unseenBy(plan) };
  const deltas = deltasOfPlan(plan).map((delta) =>
    delta.key === write?.key ? { ...delta, after: expectedState(delta.after, write) } : delta,
  );
  const writes = write === undefined ? [] : [write];
  if (deltas.length > 0) return { ok: true, deltas, writes, ...by };
  // The file already has the text of this change. Announce the file as unchanged, so that its bytes
  // are compared afterwards: the program may write another encoding or other line endings.
  const { key, relative } = plan.path;
  const side = await sideAt(world, key);
  return { ok: true, deltas: [{ key, relative, before: side, after: side }], writes, ...by };
}

/**
 * The write expected from another program. The program writes the text as given, without the gate's
 * conversions.
 */
function expectedWrite(
  intent: FileIntent,
  { path, bytes, seen, untold }: ChangePlan,
): ExpectedWrite | undefined {
  switch (intent.kind) {
    case 'write': {
      const { content } = intent;
      const given = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
      return { key: path.key, text: 'whole', expected: { bytes: given, fingerprint: fingerprintOf(given) } };
    }
    case 'edit':
    case 'insert':
      return {
        key: path.key,
        text: 'parts',
        // Other writers' lines count as seen only when the notice about them is sent.
        ...(untold === undefined ? defined({ known: seen?.coverage }) : {}),
        ...(bytes === undefined ? {} : { expected: bytes }),
      };
    case 'delete':
    case 'move':
    case 'mkdir':
      return undefined;
    default:
      return intent satisfies never;
  }
}

function expectedState(after: State, { expected }: ExpectedWrite): State {
  if (after.kind !== 'file' || expected === undefined) return after;
  return fileState(expected.fingerprint, after.mode, 'none');
}

/** Picks the notices which say that only a bypass rule or a grant of the operator allows a change. */
function bypassedBy({ action, path, result: { notices } }: ChangePlan): { readonly bypassed?: Bypassed } {
  const used = notices.filter((notice) => notice.kind === 'bypassed');
  return used.length === 0 ? {} : { bypassed: { action, path, notices: used } };
}

function warnedBy({ path, result: { notices } }: ChangePlan): Pick<Allowed, 'warned'> {
  const warnings = notices.filter(({ kind }) => kind === 'stale-warning');
  return warnings.length === 0 ? {} : { warned: { key: path.key, notices: warnings } };
}

/** Notices that the change concerns something that the session has not seen. */
function unseenBy({ result: { notices } }: ChangePlan): readonly Notice[] {
  return notices.filter(
    ({ kind }) => kind === 'unseen-lines' || kind === 'unseen-append' || kind === 'recreated',
  );
}

/**
 * The deltas of an edit, delete or move of a missing file. Such a call destroys nothing, so it is
 * allowed, and the other server reports the missing file. Undefined if the call must stay refused.
 */
async function deltasWhereNothingIs(
  scene: ShownScene,
  intent: HostIntent,
  { refusal }: Denied,
): Promise<readonly Delta[] | undefined> {
  // A refusal with a reason means that something exists at the path, for example a dangling link.
  if (refusal.code !== 'NOT_FOUND' || refusal.detail?.reason !== undefined) return undefined;
  if (intent.kind !== 'move') return absentAt(scene.world, [intent.path]);
  const { destination } = intent;
  const arriving = await prepare(scene.world, scene.knowledge, {
    kind: 'write',
    path: destination,
    content: '',
  });
  if (!arriving.ok) return undefined;
  return absentAt(scene.world, [intent.source, destination]);
}

function absentAt(world: World, paths: readonly string[]): readonly Delta[] | undefined {
  const deltas: Delta[] = [];
  for (const path of paths) {
    const resolved = world.workspace.resolve(path, 'status', 'parents');
    if (!resolved.ok || resolved.exists) return undefined;
    const { key, relative } = resolved.path;
    deltas.push({ key, relative, before: ABSENT, after: ABSENT });
  }
  return deltas;
}

/**
 * Judges a change whose text only the other server knows. The session must have seen the present
 * content of the named lines, or of all lines if none is named.
 */
function judgeTouch({ world, knowledge }: ShownScene, intent: TouchIntent): Promise<Allowed | Denied> {
  return judgeGranted(world, knowledge, {
    change: intent,
    judge: (under) => judged({ world: under, knowledge }, intent),
  });
}

async function judged({ world, knowledge }: ShownScene, intent: TouchIntent): Promise<Allowed | Denied> {
  const action = intent.lines === undefined ? 'overwrite' : 'edit';
  const request = { path: intent.path, action, depth: 'bytes' } as const;
  return look(world, knowledge, request, async (view): Promise<Allowed | Denied> => {
    if (world.policy.readOnly) {
      const detail = { cause: 'session' } as const;
      return notPrepared({ code: 'READ_ONLY', action, path: intent.path, next: 'ask_human', detail });
    }
    const protectedBy = await guardUnknown(world, knowledge, view.path);
    const totalLines = view.snapshot === undefined ? undefined : countFileLines(view.snapshot.bytes);
    const touched = intent.lines?.map((range) => clipped(range, totalLines ?? range.to));
    const verdict = judge(
      { ...view.facts, ...defined({ protectedBy }), touched, totalLines },
      { ...world.policy, partial: 'lines' },
    );
    if (verdict.outcome === 'refuse') return refusedAs(world, view, verdict.refusal);
    if (verdict.licence === 'carry') return refusedAs(world, view, staleOf(view));
    const writes = [{ key: view.path.key, text: 'unknown' as const }];
    const notices = verdict.notices.filter(({ kind }) => kind === 'stale-warning');
    const warned = notices.length === 0 ? {} : { warned: { key: view.path.key, notices } };
    return { ok: true, deltas: [deltaOf(view)], writes, ...warned };
  });
}

async function refusedAs(world: World, view: LookedFile, refusal: Refusal): Promise<Denied> {
  return { ...(await withCure(world, view, refusal)), evidence: await evidenceOf(view) };
}

function staleOf({ facts, sighting }: LookedFile): RefusalOf<'STALE'> {
  const detail = sighting === undefined ? {} : { detail: { seenAtMs: sighting.atMs } };
  return { code: 'STALE', action: facts.action, path: facts.path, next: 'read_again', ...detail };
}

function clipped({ from, to }: LineRange, totalLines: number): LineRange {
  return { from: Math.max(1, Math.min(from, totalLines)), to: Math.min(to, totalLines) };
}

/** The delta on a file. The file's new state is unknown until the other server has answered. */
function deltaOf({ path, snapshot }: LookedFile): Delta {
  const { key, relative } = path;
  if (snapshot === undefined) return { key, relative, before: ABSENT, after: ABSENT };
  const before = sideOf(snapshot);
  return { key, relative, before, after: before, sinceUs: microseconds(snapshot.stats.ctimeNs) };
}
