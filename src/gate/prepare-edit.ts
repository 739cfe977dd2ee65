import { fingerprintOf } from '../disk/read.ts';
import { judge } from '../judge/judge.ts';
import { type Coverage, covers, type LineRange, mergeRanges, NOTHING, WHOLE } from '../model/coverage.ts';
import type { Edit, FileIntent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import type { Notice } from '../model/results.ts';
import { NO_FLAGS, type SeenPage, type Sighting, showsAll } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import { carryCoverage } from '../text/change.ts';
import { decodeText } from '../text/decode.ts';
import { countFileLines } from '../text/file-lines.ts';
import { sliceLineBytes } from '../text/lines.ts';
import { maskedDiff } from '../text/unified.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { type LookedFile, look, placeholderIn } from './look.ts';
import { diffOptions, maskIn, maskTextFor, touchesMasked, withoutSecretQuote } from './masking.ts';
import type { ChangePlan } from './plan.ts';
import {
  type PlanFailure,
  type PlannedText,
  planEdits,
  planInsert,
  planRefusal,
  totalAfter,
  touchedLines,
} from './plan-text.ts';
import { type NewBytes, writePlan } from './prepare-write.ts';
import {
  creditFor,
  notPrepared,
  type OutsideChange,
  outsideChange,
  type Prepared,
  unverifiable,
  withCure,
  withEvidence,
} from './prepared.ts';
import type { World } from './world.ts';

/** Line numbers as printed by reads; see `landNumbered` in text/tiers/land.ts. */
const LINE_NUMBERS = /^ *\d{1,7}(?:\t|→|: ?)/gm;
/** Number of context lines in a diff: as many as in the official MCP filesystem server. */
const DIFF_CONTEXT = 4;

type TextIntent = Extract<FileIntent, { kind: 'edit' | 'insert' }>;

/**
 * Judges an edit or an insert. If the file changed since it was seen, the edit is applied to the
 * changed file where that is safe, or refused as STALE.
 */
export function prepareText(world: World, knowledge: Knowledge, intent: TextIntent): Promise<Prepared> {
  const { path, kind, expectedRevision } = intent;
  const appends = isAppend(intent);
  const request = { path, action: kind, expectedRevision, appends, depth: 'bytes' } as const;
  return look(world, knowledge, request, async (view) =>
    withEvidence(await judged(world, intent, view), view, intent),
  );
}

/** True for a file that may be too large to plan an edit of it in memory. */
function isHuge({ facts: { target } }: LookedFile): boolean {
  return target.exists && target.sizeBytes > LIMITS.hugeBytes;
}

function isAppend(intent: TextIntent): boolean {
  return intent.kind === 'insert' && intent.afterLine === undefined;
}

async function judged(world: World, intent: TextIntent, view: LookedFile): Promise<Prepared> {
  // If the file is unchanged since it was seen, do not judge here: `judgeTouched` repeats all these
  // checks.
  const asSeen = view.facts.freshness === 'same' && view.snapshot !== undefined && !isHuge(view);
  const first = asSeen ? undefined : judge(view.facts, world.policy);
  if (first?.outcome === 'refuse') return withCure(world, view, first.refusal);
  if (view.snapshot === undefined && view.located.exists)
    return notPrepared(unverifiable(intent.kind, intent.path, view.facts.errno));
  const carried = first?.licence === 'carry';
  const change = carried ? await changeSinceSeen(world, view) : undefined;
  if (carried && change === undefined && !appendsFreely(world, intent))
    return withCure(world, view, stale(view));

  if (touchesMasked(world, intent, view)) return unplanned(world, view, redacted(intent));
  const planned = plan(world, { intent, view, change });
  if (!planned.ok && carried) return withCure(world, view, stale(view));
  if (!planned.ok) return unplanned(world, view, await failed(world, view, { intent, failure: planned }));
  const stillSeen = await seenLinesLeft(world, view, first?.licence);
  const touching: TouchedEdit = { world, intent, view, planned, change, stillSeen };
  const second = judgeTouched(touching);
  if ('code' in second) return withCure(world, view, second);
  const unseen: Notice[] = carried && change === undefined ? [{ kind: 'unseen-append' }] : [];
  return { ok: true, plan: planFor(touching, [...unseen, ...second]) };
}

function failed(
  world: World,
  view: LookedFile,
  { intent, failure }: { readonly intent: TextIntent; readonly failure: PlanFailure },
): Promise<Refusal> {
  const refusal = planRefusal(failure, intent.kind, intent.path);
  return withSight(world, view, { refusal, edits: intent.kind === 'edit' ? intent.edits : [] });
}

function redacted({ kind, path }: TextIntent): Refusal {
  const detail = { reason: 'the text to replace holds a masked value' };
  return { code: 'REDACTED_READ', action: kind, path, next: 'use_edit', detail };
}

/**
 * The refusal for an edit that cannot be planned. It may quote text of the file, so a refusal by
 * the policy takes precedence.
 */
function unplanned(world: World, view: LookedFile, refusal: Refusal): Promise<Prepared> {
  const verdict = judge(view.facts, world.policy);
  if (verdict.outcome === 'refuse') return withCure(world, view, verdict.refusal);
  const shown = withoutSecretQuote(world, view, refusal);
  return withCure(world, view, hasSeenAll(view) ? shown : withoutAnchor(shown));
}

/** True if the session has seen every line of the file as it is now. */
function hasSeenAll({ sighting, facts }: LookedFile): boolean {
  return facts.freshness === 'same' && sighting?.coverage.kind === 'whole' && showsAll(sighting.flags);
}

/**
 * Removes the file's quoted text from a refusal, for a session that has not seen the whole file.
 * Such a session must read the file before it repeats the call.
 */
function withoutAnchor(refusal: Refusal): Refusal {
  if (refusal.code !== 'NO_MATCH') return refusal;
  const { anchor: _anchor, difference: _difference, ...detail } = refusal.detail ?? {};
  return { ...refusal, detail };
}

function appendsFreely(world: World, intent: TextIntent): boolean {
  return isAppend(intent) && world.policy.append === 'free';
}

async function changeSinceSeen(
  world: World,
  { sighting, snapshot }: LookedFile,
): Promise<OutsideChange | undefined> {
  if (sighting === undefined || snapshot === undefined) return undefined;
  return outsideChange(world, sighting, snapshot);
}

/**
 * The seen lines that another program's change left as they were. Undefined if no other program
 * changed the file, or if the answer to the edit will show that change.
 */
async function seenLinesLeft(
  world: World,
  view: LookedFile,
  licence: string | undefined,
): Promise<readonly LineRange[] | undefined> {
  if (view.facts.freshness !== 'changed' || licence === 'carry') return undefined;
  return (await changeSinceSeen(world, view))?.stillSeen ?? [];
}

function stale(view: LookedFile): Refusal {
  const { action, path, writer } = view.facts;
  const seenAtMs = view.sighting?.atMs;
  const detail = {
    ...(seenAtMs === undefined ? {} : { seenAtMs }),
    ...(writer === undefined ? {} : { writer }),
  };
  return { code: 'STALE', action, path, next: 'read_again', detail };
}

/**
 * Computes the new bytes of the file. If the file changed since it was seen, the text to replace
 * must match exactly, except for line endings: a looser match could hit the wrong text.
 */
function plan(
  world: World,
  { intent, view, change }: Pick<TouchedEdit, 'intent' | 'view' | 'change'>,
): PlannedText | PlanFailure {
  const bytes = view.snapshot?.bytes ?? new Uint8Array();
  const style = { path: view.path.relative, quotes: world.policy.quotes };
  if (intent.kind === 'edit') {
    const { matching } = world.policy;
    const loosest = change || matching === 'exact' ? 'line-endings' : 'punctuation';
    const mask = maskTextFor(world, view.path.relative);
    return planEdits(bytes, intent.edits, { ...style, loosest, matching, mask });
  }
  const { content, afterLine } = intent;
  if (change === undefined || afterLine === undefined || afterLine === 0) {
    return planInsert(bytes, { ...style, content, afterLine });
  }
  const line = change.carryLine(afterLine);
  return line === undefined
    ? { ok: false, kind: 'no-such-line' }
    : planInsert(bytes, { ...style, content, afterLine: line });
}

interface TouchedEdit {
  readonly world: World;
  readonly intent: TextIntent;
  readonly view: LookedFile;
  readonly planned: PlannedText;
  readonly change: OutsideChange | undefined;
  /**
   * The seen lines that another program's change left as they were. Undefined if there was no such
   * change, or if the answer to the edit will show it.
   */
  readonly stillSeen: readonly LineRange[] | undefined;
}

/**
 * Judges the edit a second time, now that the touched lines are known. Returns notices or a
 * refusal.
 */
function judgeTouched({ world, intent, view, planned, change }: TouchedEdit): readonly Notice[] | Refusal {
  const totalLines = totalBefore(view);
  const touched = touchedLines(planned.changes, totalLines);
  if (change !== undefined && !appendsFreely(world, intent)) {
    const ranges = mergeRanges([...change.stillSeen, ...samePlaces(intent, change)]);
    const seen = { kind: 'lines', ranges } as const;
    if (!touched.every((range) => covers(seen, range)) || !isPlacedAsSeen(intent, change)) return stale(view);
  }
  const text =
    intent.kind === 'insert' ? intent.content : intent.edits.map((edit) => edit.newString).join('\n');
  // Search for placeholders without the copied line numbers, because these are not written.
  const isNumbered = planned.tier === 'line-numbers';
  const placeholder = isNumbered
    ? placeholderIn(text.replace(LINE_NUMBERS, ''), view)
    : placeholderIn(text, view, placeOf(intent, touched));
  const facts = { ...view.facts, touched, totalLines, placeholder, mask: maskIn(world, view, text) };
  const verdict = judge(
    facts,
    mustSee(intent, planned) ? { ...world.policy, partial: 'lines' } : world.policy,
  );
  return verdict.outcome === 'refuse' ? verdict.refusal : verdict.notices;
}

/**
 * The line at which the new text begins. Undefined for an append, or if the edit has several
 * places.
 */
function placeOf(intent: TextIntent, touched: readonly LineRange[]): number | undefined {
  if (intent.kind === 'insert') return intent.afterLine === undefined ? undefined : intent.afterLine + 1;
  return intent.edits.length === 1 && touched.length === 1 ? touched[0]?.from : undefined;
}

function samePlaces(intent: TextIntent, change: OutsideChange): LineRange[] {
  if (intent.kind === 'insert') return [];
  const single = intent.edits.filter((edit) => edit.replaceAll !== true);
  return single.flatMap((edit) => change.samePlace(edit.oldString) ?? []);
}

/**
 * A hunk of a patch names a line number of the file as the session saw it. False if that number may
 * select a wrong place, because the file has changed since.
 */
function isPlacedAsSeen(intent: TextIntent, change: OutsideChange): boolean {
  if (intent.kind === 'insert') return true;
  const hunks = intent.edits.filter(({ lines }) => lines?.near !== undefined);
  // The last line of the file may lack the newline that the last line of a hunk always has.
  return hunks.every(
    ({ oldString }) =>
      (change.samePlace(oldString) ?? change.samePlace(oldString.replace(/\n$/, ''))) !== undefined,
  );
}

/**
 * True if the session must have seen the touched lines. An anchor (the old text of an edit) that is
 * exact and unique proves by itself that the model knows these lines.
 */
function mustSee(intent: TextIntent, planned: PlannedText): boolean {
  if (intent.kind === 'insert') return false;
  const loose = planned.tier !== 'exact' && planned.tier !== 'line-endings';
  return loose || intent.edits.some((edit) => edit.replaceAll === true);
}

function totalBefore(view: LookedFile): number {
  const { sighting, snapshot, facts } = view;
  // Do not use the line count of a session that saw only pages of a huge file: the file may have
  // grown since then.
  const known = sighting?.fingerprint === undefined ? undefined : sighting.totalLines;
  if (facts.freshness === 'same' && known !== undefined) return known;
  return snapshot === undefined ? 0 : countFileLines(snapshot.bytes);
}

function planFor(touching: TouchedEdit, notices: readonly Notice[]): ChangePlan {
  const { world, intent, view, planned, change } = touching;
  const credit =
    change && view.sighting && view.snapshot
      ? creditFor(world, { sighting: view.sighting, snapshot: view.snapshot, change })
      : sightingOfReturned(view);
  return writePlan(world, {
    action: intent.kind,
    located: view.located,
    before: view.snapshot,
    bytes: planned.bytes,
    sighting: seenAfter(touching, credit),
    credit,
    untold: credit === undefined ? undefined : seenUntold(touching),
    notices: [...changeNotices(view, planned, change), ...notices],
    more: moreOf(touching),
  });
}

/**
 * The session's sighting of the present bytes, if the file had other bytes for a while and then got
 * its earlier bytes back. Otherwise undefined.
 */
function sightingOfReturned({ facts, sighting }: LookedFile): Sighting | undefined {
  return facts.cameBack === true ? sighting : undefined;
}

function moreOf({ world, intent, view, planned }: TouchedEdit): NewBytes['more'] {
  const { replaced, inserted } = planned;
  if (intent.kind === 'insert') return inserted && { inserted };
  const tier = planned.tier === 'exact' ? {} : { tier: planned.tier };
  const diff = intent.withDiff === true ? { diff: diffOf(world, view, planned) } : {};
  return { replaced, ...tier, ...diff };
}

/**
 * The lines of the new bytes that count as seen. If the file was empty, the session wrote all of
 * it, as after a write.
 */
function seenAfter(
  { intent, view, planned, stillSeen }: TouchedEdit,
  credit: Sighting | undefined,
): NewBytes['sighting'] {
  const { changes } = planned;
  const totalLines = totalBefore(view);
  if (view.snapshot === undefined || view.snapshot.bytes.byteLength === 0)
    return { coverage: WHOLE, totalLines: countFileLines(planned.bytes), flags: NO_FLAGS, how: 'write' };
  // If an append adds to text that the session has not seen, record nothing: the session's next
  // diff must still start from the bytes that the session saw.
  if (isAppend(intent) && credit === undefined && view.facts.freshness !== 'same') return undefined;
  const earlier = view.facts.freshness === 'same' ? view.sighting?.coverage : rangesSeen(view, stillSeen);
  const known = credit?.coverage ?? earlier ?? NOTHING;
  const coverage = carryCoverage(known, { changes, addedAre: 'seen', totalLines });
  return {
    coverage,
    totalLines: totalAfter(totalLines, changes),
    flags: view.sighting?.flags ?? NO_FLAGS,
    how: 'edit',
    ...(view.sighting?.unplaced === true && coverage.kind !== 'whole' ? { unplaced: true } : {}),
    ...(view.sighting?.pages === undefined ? {} : { pages: pagesOf(planned.bytes, coverage) }),
  };
}

/** Like `seenAfter`, until the edit is answered: without the lines that other writers added. */
function seenUntold(touching: TouchedEdit): NewBytes['untold'] {
  const { change, stillSeen } = touching;
  const known = { ...touching, stillSeen: change?.stillSeen ?? stillSeen };
  const seen = seenAfter(known, undefined) ?? { coverage: NOTHING };
  return change?.movesLines === true ? { ...seen, unplaced: true } : seen;
}

/**
 * Converts line ranges that the session has seen to a coverage. Undefined if the session's sighting
 * counts no line as seen, as after a compaction of the conversation.
 */
function rangesSeen(
  { sighting }: LookedFile,
  ranges: readonly LineRange[] | undefined,
): Coverage | undefined {
  if (ranges === undefined || sighting === undefined || sighting.coverage.kind === 'none') return undefined;
  return { kind: 'lines', ranges };
}

/**
 * The lines of a huge file that the session knows after its own edit. Each range becomes a page
 * with its own hash, so that each page can later be compared with the file separately.
 */
function pagesOf(bytes: Uint8Array, coverage: Coverage): SeenPage[] {
  if (coverage.kind !== 'lines') return [];
  return coverage.ranges.map((range) => ({
    ...range,
    sha256: fingerprintOf(sliceLineBytes(bytes, range)).sha256,
  }));
}

function diffOf(world: World, { snapshot, path }: LookedFile, planned: PlannedText): string {
  const before: Uint8Array = snapshot?.bytes ?? Buffer.alloc(0);
  const options = { ...diffOptions(world, path.relative), context: DIFF_CONTEXT };
  return maskedDiff(before, planned.bytes, options).text;
}

function changeNotices(view: LookedFile, planned: PlannedText, change: OutsideChange | undefined): Notice[] {
  const notices: Notice[] = [];
  if (planned.tier !== 'exact') notices.push({ kind: 'match-tier', tier: planned.tier });
  if (planned.straightened > 0) notices.push({ kind: 'quotes-straightened', count: planned.straightened });
  if (change === undefined) return notices;
  const writer = view.facts.writer === undefined ? {} : { writer: view.facts.writer.session };
  return [
    ...notices,
    { kind: 'changed-elsewhere', diff: change.diff, truncated: change.truncated, ...writer },
  ];
}

/**
 * Adds to a NO_MATCH refusal whether the session has seen the whole file as it is now, or has seen
 * the missing text in an earlier version of the file. Another read helps only in the second case.
 */
async function withSight(
  { baselines }: World,
  { facts, sighting }: LookedFile,
  { refusal, edits }: { readonly refusal: Refusal; readonly edits: readonly Edit[] },
): Promise<Refusal> {
  const isWhole = sighting?.coverage.kind === 'whole' && !sighting.flags.clamped && !sighting.flags.redacted;
  if (refusal.code !== 'NO_MATCH' || !isWhole || facts.freshness !== 'same') return refusal;
  const { detail } = refusal;
  const wanted = edits[detail?.index ?? 0]?.oldString;
  for (const earlier of wanted === undefined ? [] : (sighting.seenBefore ?? [])) {
    const bytes = await baselines.recall(earlier);
    if (bytes !== undefined && decodeText(bytes)?.text.includes(wanted ?? '') === true)
      return {
        ...refusal,
        detail: { ...detail, reason: 'it was there when you saw the file, and was changed since' },
      };
  }
  return { ...refusal, detail: { ...detail, seenWhole: true } };
}
