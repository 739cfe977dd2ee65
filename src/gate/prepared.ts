import { relative, resolve, sep } from 'node:path';
import { fingerprintOf, readSnapshot, type Snapshot } from '../disk/read.ts';
import { isStub } from '../judge/facts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  type Coverage,
  covers,
  type LineRange,
  linesCoverage,
  mergeRanges,
  rangesOf,
} from '../model/coverage.ts';
import type { NewEntry, SeenFile } from '../model/entry.ts';
import { nothingChanged } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { CallTimes } from '../model/foreign-session.ts';
import type { FileIntent } from '../model/intent.ts';
import { isWithin } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import { clip, MAX_QUOTED_CHARS } from '../report/bounded.ts';
import { keptWords } from '../report/evidence.ts';
import { carryLine, carryRanges } from '../text/change.ts';
import { decodeText } from '../text/decode.ts';
import { diffLines, type Hunk } from '../text/diff.ts';
import { lineCount } from '../text/lines.ts';
import { samePlace } from '../text/match.ts';
import { type MaskedDiffOptions, maskedDiff, type UnifiedDiff } from '../text/unified.ts';
import type { LookedFile } from './look.ts';
import type { Step } from './step.ts';
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
type Evidence = Pick<NewEntry, 'sha256' | 'sizeBytes' | 'seen' | 'content'>;

/**
 * An allowed change with its step, or a refusal. `credit`: the lines that the refusal itself shows,
 * which then count as seen.
 */
export type Prepared = { readonly ok: true; readonly step: Step } | Denied;

export interface Denied {
  readonly ok: false;
  readonly refusal: Refusal;
  readonly credit?: Sighting;
  readonly evidence?: Evidence;
}

export function notPrepared(refusal: Refusal, credit?: Sighting): Denied {
  return { ok: false, refusal, ...(credit === undefined ? {} : { credit }) };
}

/**
 * Runs `prepare`, and closes the located path unless a step keeps using it. Adds evidence for the journal to a refusal.
 */
export async function closedUnlessOk(
  { view, intent }: { readonly view: LookedFile; readonly intent: FileIntent },
  prepare: () => Promise<Prepared>,
): Promise<Prepared> {
  let ok = false;
  try {
    const prepared = await prepare();
    ok = prepared.ok;
    if (prepared.ok || prepared.evidence !== undefined) return prepared;
    return { ...prepared, evidence: await evidenceOf(view, intent) };
  } finally {
    if (!ok) view.located.place.dir.close();
  }
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

function seenOf(sighting: Sighting | undefined): SeenFile | undefined {
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
 * Adds to a STALE refusal the diff since the file was seen. Lines in the diff count as seen, so the
 * next try needs no read. But if the session sends the same content again without a read, that
 * content is refused again. Under `cure: reread` the diff is shown, but the session must read the
 * file.
 */
export async function cure(
  world: World,
  view: LookedFile,
  refused: { readonly refusal: Refusal; readonly contentHash?: string },
): Promise<Prepared> {
  const { sighting, snapshot } = view;
  if (sighting === undefined || snapshot === undefined) return notPrepared(refused.refusal);
  const change = await outsideChange(world, sighting, snapshot);
  if (change === undefined) return notPrepared(refused.refusal);
  const credit = creditFor(world, { sighting, snapshot, change });
  const content = refused.contentHash === undefined ? {} : { refusedContent: refused.contentHash };
  const whole = change.coverage.kind === 'whole' && !sighting.flags.clamped && !sighting.flags.redacted;
  const detail = {
    ...refused.refusal.detail,
    ...(change.diff === '' ? {} : { diff: change.diff }),
    ...(whole && world.policy.cure === 'diff' ? { revision: world.revisionOf(snapshot.fingerprint) } : {}),
  };
  const refusal = { ...refused.refusal, detail };
  if (world.policy.cure === 'reread') return notPrepared(refusal);
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
  return {
    key: sighting.key,
    fingerprint: snapshot.fingerprint,
    stamp: snapshot.stamp,
    racy: snapshot.racy,
    coverage: change.coverage,
    totalLines: change.totalLines,
    flags: sighting.flags,
    how: 'cure',
    atMs: world.now(),
  };
}

/** The changes in a file since a session saw it. */
export interface OutsideChange {
  /** The diff, with at most the number of lines that the policy allows. */
  readonly diff: string;
  readonly truncated: boolean;
  readonly totalLines: number;
  /** Lines that the session saw and that are unchanged, in present line numbers. */
  readonly stillSeen: readonly LineRange[];
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
  const { maxDiffLines: maxLines, maxLineChars, secrets } = world.policy;
  const bounds = { maxLines, maxLineChars, context: CONTEXT_LINES, secrets, path: sighting.key };
  const shown = boundedDiff(before, now, bounds);
  const totalLines = lineCount(now);
  const stillSeen = seenAfter(sighting, hunks, lineCount(before));
  return {
    diff: shown.text,
    truncated: shown.truncated,
    totalLines,
    stillSeen,
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
 * A diff that fits into a refusal. Of a larger diff, only the beginning is shown: the session must
 * read the file. Lines that are cut off do not count as seen.
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

/** A refused path is cut to this length. No system has longer paths, but callers may send anything. */
const MAX_PATH_CHARS = 4096;

/**
 * Maximum number of paths for which successive refusals are counted. Beyond it, the path that was
 * refused longest ago loses its count. That only delays the explanation that repeated refusals get.
 */
const MAX_STREAKS = 1000;

/** Journals refusals, and records the lines that they show as seen. Counts successive refusals per path. */
export class Refusals {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #streaks = new Map<string, { readonly code: string; readonly count: number }>();

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /**
   * Journals a refusal. Returns it with the number of equal refusals in a row: from the third on,
   * some carry an explanation (see report/).
   */
  async record(item: {
    readonly refusal: Refusal;
    readonly credit?: Sighting;
    readonly evidence?: Evidence;
    /** Set under `mode: observe`: the refusal is recorded, but the call is not stopped. */
    readonly observed?: true;
    /**
     * Times at which the refused call arrived and was answered. The lines that the refusal shows
     * count as seen only for later calls. Absent if the client waits for each answer before its
     * next call.
     */
    readonly times?: CallTimes | undefined;
  }): Promise<{ readonly refusal: Refusal }> {
    const refusal = this.#counted(item.refusal);
    const entry = {
      kind: 'refusal' as const,
      atMs: this.#world.now(),
      ...this.#ledger.author,
      ...refusedPlace(this.#world.workspace.roots, refusal.path),
      action: refusal.action,
      code: refusal.code,
      next: refusal.next,
      ...textOf(refusal),
      ...diffBytesOf(refusal),
      ...item.evidence,
      ...(item.observed === undefined ? {} : { observed: item.observed }),
    };
    const { credit, times } = item;
    if (credit !== undefined && times !== undefined) await this.#ledger.willShow([credit], times);
    try {
      await this.#ledger.record(credit === undefined ? [] : [credit], { entries: [entry] });
    } catch (error) {
      throw nothingChanged(error);
    }
    return { refusal };
  }

  /** Resets the count of a path, after a successful read or change. */
  reset(path: string): void {
    this.#streaks.delete(clip(path, MAX_PATH_CHARS));
  }

  resetAll(paths: readonly string[]): void {
    for (const path of paths) this.reset(path);
  }

  #counted(refusal: Refusal): Refusal {
    const key = clip(refusal.path, MAX_PATH_CHARS);
    const last = this.#streaks.get(key);
    const count = last?.code === refusal.code ? last.count + 1 : 1;
    this.#streaks.delete(key);
    this.#streaks.set(key, { code: refusal.code, count });
    for (const path of this.#streaks.keys()) {
      if (this.#streaks.size <= MAX_STREAKS) break;
      this.#streaks.delete(path);
    }
    return { ...refusal, detail: { ...refusal.detail, repeated: count } };
  }
}

/**
 * The root and path of a refused call, for the journal. A path outside all roots stays as the
 * caller wrote it.
 */
function refusedPlace(
  roots: readonly string[],
  given: string,
): { readonly root: string; readonly path: string } {
  const [first = ''] = roots;
  const full = resolve(first, given);
  const root = roots.find((each) => isWithin(full, each));
  if (root === undefined) return { root: first, path: clip(given, MAX_PATH_CHARS) };
  return { root, path: clip(relative(root, full).replaceAll(sep, '/'), MAX_PATH_CHARS) };
}

/** Size in bytes of the diff in the refusal, which spares the session another read. */
function diffBytesOf({ detail }: Refusal): { readonly diffBytes?: number } {
  return detail?.diff === undefined ? {} : { diffBytes: Buffer.byteLength(detail.diff) };
}

/** The journal's text for a refusal, besides its code. */
function textOf({ path, detail: { reason, kept = [] } = {} }: Refusal): { readonly text?: string } {
  if (reason === 'declined') return { text: 'the user declined it' };
  // Only the journal, which users read, says how to approve. The answer to the agent does not.
  if (reason === 'approval')
    return { text: `needs approval: lookfirst allow ${JSON.stringify(clip(path, MAX_PATH_CHARS))} --once` };
  if (kept.length === 0) return reason === undefined ? {} : { text: reason };
  return { text: `${reason === undefined ? '' : `${reason}. `}${keptWords(kept)}` };
}

/** The refusal to delete or move a link whose target is not text. An undo could not restore it. */
export function unreadableLink(action: Action, path: string): Refusal {
  const detail = { errno: 'EILSEQ', reason: 'its target is not valid text, so it could not be restored' };
  return { code: 'UNVERIFIABLE', action, path, next: 'ask_human', detail };
}

/** The refusal for a file whose bytes could not be read, so that nothing about them is known. */
export function unverifiable(action: Action, path: string, errno?: string): Refusal {
  const refusal: Refusal = { code: 'UNVERIFIABLE', action, path, next: 'read_again' };
  return errno === undefined ? refusal : { ...refusal, detail: { errno } };
}
