import { fingerprintOf, readSnapshot, type Snapshot } from '../disk/read.ts';
import { isStub } from '../judge/facts.ts';
import {
  type Coverage,
  covers,
  type LineRange,
  linesCoverage,
  mergeRanges,
  rangesOf,
} from '../model/coverage.ts';
import type { EntryOf } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import { MAX_QUOTED_CHARS } from '../report/bounded.ts';
import { carryLine, carryRanges } from '../text/change.ts';
import { decodeText } from '../text/decode.ts';
import { diffLines, type Hunk } from '../text/diff.ts';
import { lineCount } from '../text/lines.ts';
import { samePlace } from '../text/match.ts';
import { type MaskedDiffOptions, maskedDiff, type UnifiedDiff } from '../text/unified.ts';
import { presentSighting } from './found.ts';
import type { LookedFile } from './look.ts';
import { diffOptions } from './masking.ts';
import type { ChangePlan } from './plan.ts';
import type { World } from './world.ts';

/**
 * Number of unchanged lines that a diff shows around each change. One line is enough to show the
 * place, because the session has seen the file before. With git's three lines, half of a small diff
 * is context.
 */
const CONTEXT_LINES = 1;

/**
 * Maximum size of a file that is read and hashed only for the journal, because the verdict did not
 * need its bytes. For a larger file, the journal gets no hash.
 */
const MAX_HASHED_BYTES = 8 << 20;

/** Facts about the file that the journal keeps with a refusal, so that users can check it later. */
export type Evidence = Pick<
  EntryOf<'refusal'>,
  'sha256' | 'sizeBytes' | 'seen' | 'content' | 'call' | 'text'
>;

/**
 * An allowed change with its plan, or a refusal. `credit`: the lines that the refusal itself shows,
 * which then count as seen.
 */
export type Prepared = { readonly ok: true; readonly plan: ChangePlan } | Denied;

export interface Denied {
  readonly ok: false;
  readonly refusal: Refusal;
  readonly credit?: Sighting;
  readonly evidence?: Evidence;
}

export function notPrepared(refusal: Refusal, credit?: Sighting): Denied {
  return { ok: false, refusal, ...(credit === undefined ? {} : { credit }) };
}

/** Adds evidence for the journal to a refusal. */
export async function withEvidence(
  prepared: Prepared,
  view: LookedFile,
  intent: FileIntent,
): Promise<Prepared> {
  if (prepared.ok || prepared.evidence !== undefined) return prepared;
  return { ...prepared, evidence: await evidenceOf(view, intent) };
}

/** Hashes of the present bytes, of the bytes the session saw, and of the content it wanted to write. */
export async function evidenceOf(view: LookedFile, intent?: FileIntent): Promise<Evidence> {
  const live = view.snapshot?.fingerprint ?? (await hashUnread(view));
  const seen = seenOf(view.sighting);
  const content = intent === undefined ? undefined : contentOf(intent);
  return {
    ...(live === undefined ? {} : { sha256: live.sha256, sizeBytes: live.size }),
    ...(seen === undefined ? {} : { seen }),
    ...(content === undefined ? {} : { content }),
  };
}

/**
 * Hashes a file for the journal only. The answer to the session was decided without these bytes and does not mention
 * them.
 */
async function hashUnread({ located }: LookedFile): Promise<Fingerprint | undefined> {
  if (!located.exists || !located.stats.isFile() || located.stats.size > MAX_HASHED_BYTES) return undefined;
  const limits = { clock: undefined, seen: located.stats, maxBytes: MAX_HASHED_BYTES };
  const snapshot = await readSnapshot(located.place, limits);
  return 'problem' in snapshot ? undefined : snapshot.fingerprint;
}

function seenOf(sighting: Sighting | undefined): Evidence['seen'] {
  if (sighting === undefined || isStub(sighting) || sighting.tombstone === true) return undefined;
  const { fingerprint, coverage, atMs } = sighting;
  return { ...(fingerprint === undefined ? {} : { fingerprint }), lines: linesOf(coverage), atMs };
}

function linesOf(coverage: Coverage): string {
  if (coverage.kind !== 'lines') return coverage.kind;
  return coverage.ranges.map(({ from, to }) => `${from}-${to}`).join(',');
}

/** Hash of the new content. For edits and inserts the result is unknown, so the request is hashed. */
function contentOf(intent: FileIntent): string | undefined {
  switch (intent.kind) {
    case 'write': {
      const { content } = intent;
      return fingerprintOf(typeof content === 'string' ? Buffer.from(content, 'utf8') : content).sha256;
    }
    case 'edit':
      return fingerprintOf(Buffer.from(JSON.stringify(intent.edits), 'utf8')).sha256;
    case 'insert':
      return fingerprintOf(Buffer.from(JSON.stringify([intent.afterLine, intent.content]), 'utf8')).sha256;
    default:
      return undefined;
  }
}

/**
 * A refusal. If it is STALE, it gets the diff since the file was seen. Lines in the diff count as seen, so the
 * next try needs no read. But if the session sends the same content again without a read, that
 * content is refused again. Under `freshness: mtime` the diff is shown, but the session must read the
 * file.
 */
export async function withCure(
  world: World,
  { sighting, snapshot }: LookedFile,
  given: Refusal,
  contentHash?: string,
): Promise<Denied> {
  if (given.code !== 'STALE' || sighting === undefined || snapshot === undefined) return notPrepared(given);
  const change = await outsideChange(world, sighting, snapshot);
  if (change === undefined) return notPrepared(given);
  const credit = creditFor(world, { sighting, snapshot, change });
  const content = contentHash === undefined ? {} : { refusedContent: contentHash };
  const whole = change.coverage.kind === 'whole' && !sighting.flags.clamped && !sighting.flags.redacted;
  const detail = {
    ...given.detail,
    ...(change.diff === '' ? {} : { diff: change.diff }),
    ...(whole && world.policy.freshness === 'bytes'
      ? { revision: world.revisionOf(snapshot.fingerprint) }
      : {}),
  };
  const refusal = { ...given, detail };
  if (world.policy.freshness === 'mtime') return notPrepared(refusal);
  // If the diff is too large to show any present line, nothing counts as seen: the session must
  // read the file.
  if (change.coverage.kind === 'none') return notPrepared(refusal);
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  return notPrepared(refusal, { ...credit, ...content });
}

/** The lines of the present file that count as seen after the session was shown the diff in `change`. */
export function creditFor(
  world: World,
  { sighting, snapshot, change }: { sighting: Sighting; snapshot: Snapshot; change: OutsideChange },
): Sighting {
  const { coverage, totalLines } = change;
  const { key, flags } = sighting;
  return presentSighting(world, snapshot, { key, coverage, totalLines, flags, how: 'cure' });
}

/** The changes in a file since a session saw it. */
export interface OutsideChange {
  /** The diff, with at most the number of lines that the policy allows. */
  readonly diff: string;
  readonly truncated: boolean;
  readonly totalLines: number;
  /** Lines that the session saw and that are unchanged, in present line numbers. */
  readonly stillSeen: readonly LineRange[];
  /** True if lines now have other numbers than when the session saw them. */
  readonly movesLines: boolean;
  /** `stillSeen`, and all lines of the present file that the diff shows. */
  readonly coverage: Coverage;
  /** The present number of a line that was seen, or undefined if it or its neighbours changed. */
  carryLine(line: number): number | undefined;
  /**
   * The lines that now hold this anchor (the text that an edit replaces), if the session saw it at
   * the same place; see `samePlace` in text/match.ts.
   */
  samePlace(anchor: string): LineRange | undefined;
}

/**
 * Compares the bytes a session saw with the present ones. Undefined if the earlier bytes are no longer cached or
 * stored, or are not text.
 */
export async function outsideChange(
  world: World,
  sighting: Sighting,
  snapshot: Snapshot,
): Promise<OutsideChange | undefined> {
  if (sighting.fingerprint === undefined) return undefined;
  const earlier = await world.baselines.recall(sighting.fingerprint);
  if (earlier === undefined) return undefined;
  const before = decodeText(earlier)?.text;
  const now = decodeText(snapshot.bytes)?.text;
  if (before === undefined || now === undefined) return undefined;
  const { hunks } = diffLines(before, now);
  const { maxLineChars } = LIMITS;
  const bounds = { ...diffOptions(world, sighting.key), maxLineChars, context: CONTEXT_LINES };
  const shown = boundedDiff(before, now, bounds);
  const totalLines = lineCount(now);
  const stillSeen = seenAfter(sighting, hunks, lineCount(before));
  return {
    diff: shown.text,
    truncated: shown.truncated,
    totalLines,
    stillSeen,
    movesLines: hunks.some((hunk) => hunk.beforeEnd - hunk.beforeStart !== hunk.afterEnd - hunk.afterStart),
    coverage: linesCoverage([...stillSeen, ...shown.shownAfter], totalLines),
    carryLine: (line) => carryLine(line, hunks),
    samePlace: (anchor) => {
      const place = samePlace(before, now, anchor);
      const ranges = rangesOf(sighting.coverage, lineCount(before));
      return place && covers({ kind: 'lines', ranges }, place.before) ? place.after : undefined;
    },
  };
}

/**
 * A diff that fits into a refusal. A larger diff is cut to its beginning, and the session must read
 * the file. Lines that are cut off do not count as seen.
 */
function boundedDiff(before: string, now: string, bounds: MaskedDiffOptions): UnifiedDiff {
  // Cut lines only where reads cut them. A line that is cut shorter would not count as seen, and
  // the next overwrite would be refused.
  const diff = maskedDiff(before, now, bounds);
  const isWhole = !diff.truncated && diff.text.length <= MAX_QUOTED_CHARS;
  return isWhole ? diff : beginningOf(before, now, { ...bounds, maxLines: Math.ceil(bounds.maxLines / 4) });
}

function beginningOf(before: string, now: string, bounds: MaskedDiffOptions): UnifiedDiff {
  const diff = maskedDiff(before, now, bounds);
  if (diff.text.length <= MAX_QUOTED_CHARS || bounds.maxLines <= 1) return diff;
  return beginningOf(before, now, { ...bounds, maxLines: Math.floor(bounds.maxLines / 2) });
}

function seenAfter(sighting: Sighting, hunks: readonly Hunk[], totalBefore: number): LineRange[] {
  return mergeRanges(carryRanges(rangesOf(sighting.coverage, totalBefore), hunks));
}

/** The refusal to delete or move a link whose target is not text. An undo could not restore it. */
export function unreadableLink(action: Action, path: string): Refusal {
  const detail = { errno: 'EILSEQ', reason: 'its target is not valid text, so it could not be restored' };
  return { code: 'UNVERIFIABLE', action, path, next: 'ask_human', detail };
}

/** The refusal of a move because of its destination. */
export function destinationRefusal(
  code: 'NOT_FOUND' | 'ALREADY_EXISTS',
  { source, destination: path }: { readonly source: string; readonly destination: string },
  reason: string,
): Refusal {
  return { code, action: 'move', path, next: 'other_path', detail: { source, reason } };
}

/** The refusal for a file whose bytes could not be read, so that nothing about them is known. */
export function unverifiable(action: Action, path: string, errno?: string): Refusal {
  const refusal: Refusal = { code: 'UNVERIFIABLE', action, path, next: 'read_again' };
  return errno === undefined ? refusal : { ...refusal, detail: { errno } };
}
