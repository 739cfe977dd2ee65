import { type Coverage, type LineRange, mergeRanges, missingLines } from '../../model/coverage.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Policy } from '../../model/policy.ts';
import { type Sighting, showsAll } from '../../model/sighting.ts';
import { exactTime } from '../../report/times.ts';
import { type Absence, bringsWhatIsThere, type Facts, knowledgeOf } from '../facts.ts';
import { type JudgeRule, no, note, PASS, type Ruling } from '../ruling.ts';

/**
 * Requires that this session has seen the file, not too long ago, and that the view is still in the
 * model's context. After a compaction, edits of unchanged files stay allowed, because the gate
 * checks their old text against the file.
 */
export const seen: JudgeRule = (facts, policy) => {
  if (policy.seen === 'optional' || !facts.target.exists || facts.target.kind !== 'file') return PASS;
  const knowledge = knowledgeOf(facts);
  if (!knowledge.known) return unseen(facts, knowledge.absence, knowledge.seenAtMs);

  const { sighting } = knowledge;
  if (sighting.flags.unverified && asksForFreshness(policy))
    return unseen(facts, 'unverified', sighting.atMs);
  if (policy.ttlMs > 0 && facts.nowMs - sighting.atMs > policy.ttlMs)
    return no(facts, { code: 'READ_EXPIRED', next: 'read_again', detail: { seenAtMs: sighting.atMs } });
  if (outOfContext(sighting) && !(facts.action === 'edit' && baselineHolds(facts, policy)))
    return unseen(facts, ...lossOf(facts, sighting));
  return PASS;
};

function unseen(facts: Facts, absence: Absence, seenAtMs: number | undefined): Ruling {
  if (absence === 'expired')
    return no(facts, { code: 'READ_EXPIRED', next: 'read_again', detail: { seenAtMs } });
  const writer = absence === 'changed' ? facts.writer : undefined;
  const detail = { reason: absence === 'never' ? undefined : absence, seenAtMs, writer };
  return no(facts, { code: 'NOT_READ', next: 'read', detail });
}

/**
 * The reason why a sighting does not count. If its content was never shown (for example, a tool
 * copied the file), the reason is `never`, not a loss.
 */
function lossOf({ writer }: Facts, { lost, atMs }: Sighting): [Absence, number | undefined] {
  if (lost !== undefined) return [lost, atMs];
  return [writer?.command === undefined ? 'never' : 'changed', undefined];
}

function asksForFreshness(policy: Policy): boolean {
  return policy.staleness === 'refuse' || policy.staleness === 'merge';
}

/**
 * True if the shown content is no longer in the model's context. A binary file or image is shown as
 * a description without lines, and that description counts as its content.
 */
function outOfContext(sighting: Sighting): boolean {
  return sighting.coverage.kind === 'none' && !(sighting.flags.notText && sighting.lost === undefined);
}

function baselineHolds(facts: Facts, policy: Policy): boolean {
  return policy.compaction !== 'clear' && facts.freshness === 'same';
}

/**
 * Requires that the file is unchanged since it was seen: its bytes, and in the preset `file-time`
 * also its modification time. A check that fails with an error is UNVERIFIABLE, not stale.
 */
export const fresh: JudgeRule = (facts, policy) => {
  const knowledge = knowledgeOf(facts);
  if (policy.staleness === 'off' || !knowledge.known) return PASS;
  if (!facts.target.exists || facts.target.kind !== 'file') return PASS;
  const { sighting } = knowledge;
  if (repeatsRefused(facts, sighting, policy)) return stale(facts, sighting, 'repeated');
  // In the preset `file-time` a different modification time is a change, even with equal bytes.
  if (policy.freshness === 'mtime' && facts.otherTime === true) return changed(facts, sighting, policy);
  switch (facts.freshness ?? 'unknown') {
    case 'same':
      return facts.cameBack === true ? note({ kind: 'came-back' }) : PASS;
    case 'changed':
      return changed(facts, sighting, policy);
    default:
      return unknown(facts, sighting, policy);
  }
};

function changed(facts: Facts, sighting: Sighting, policy: Policy): Ruling {
  if (bringsWhatIsThere(facts)) return PASS;
  if (policy.staleness === 'warn') return warn(facts, sighting);
  const anchored = facts.action === 'edit' || facts.action === 'insert';
  if (policy.staleness === 'merge' && anchored) return { kind: 'carry' };
  return stale(facts, sighting, undefined);
}

/**
 * True if this content was already refused as STALE. The model wrote the content before it saw the
 * change, so the content cannot take the change into account.
 */
function repeatsRefused(facts: Facts, sighting: Sighting, policy: Policy): boolean {
  const { staleness } = policy;
  if (facts.action !== 'overwrite' || facts.contentHash === undefined) return false;
  if (staleness === 'warn' || staleness === 'confirm') return false;
  return facts.contentHash === sighting.refusedContent && !bringsWhatIsThere(facts);
}

function stale(facts: Facts, sighting: Sighting, cause: 'repeated' | undefined): Ruling {
  const detail = {
    cause,
    // A session that has seen the whole current file gets the revision. With it, the session can
    // repeat the refused content on purpose.
    revision: cause === 'repeated' && hasSeenAll(facts, sighting) ? facts.currentRevision : undefined,
    seenAtMs: sighting.atMs,
    mtimeMs: facts.target.exists ? facts.target.mtimeMs : undefined,
    seenMtimeMs: seenMtimeMs(sighting),
    writer: facts.writer,
  };
  return no(facts, { code: 'STALE', next: 'read_again', detail });
}

function hasSeenAll({ freshness }: Facts, { coverage, flags }: Sighting): boolean {
  return freshness === 'same' && coverage.kind === 'whole' && showsAll(flags);
}

function unknown(facts: Facts, sighting: Sighting, policy: Policy): Ruling {
  const why = facts.errno === undefined ? '' : ` (${facts.errno})`;
  if (policy.verificationErrors === 'allow' || policy.staleness === 'warn')
    return note({ kind: 'stale-warning', text: `file could not be checked for changes${why}` });
  const detail = { errno: facts.errno, seenAtMs: sighting.atMs };
  return no(facts, { code: 'UNVERIFIABLE', next: 'read_again', detail });
}

function warn(facts: Facts, sighting: Sighting): Ruling {
  return note({ kind: 'stale-warning', text: whatDiffers(facts, sighting) });
}

/**
 * The reason why a file counts as stale, in the wording of the preset `staleness`. Compares the
 * modification time and size when the session saw the file with the present ones, if known.
 */
function whatDiffers(facts: Facts, sighting: Sighting): string {
  const parts: string[] = [];
  const then = seenMtimeMs(sighting);
  const now = facts.target.exists ? facts.target.mtimeMs : undefined;
  if (then !== undefined && now !== undefined) parts.push(`mtime: ${exactTime(then)} → ${exactTime(now)}`);
  const size = sighting.fingerprint?.size;
  if (size !== undefined && facts.target.exists) parts.push(`size: ${size} → ${facts.target.sizeBytes}`);
  return parts.length === 0 ? 'file modified externally' : `file modified externally (${parts.join(', ')})`;
}

function seenMtimeMs(sighting: Sighting): number | undefined {
  return sighting.stamp === undefined ? undefined : Number(sighting.stamp.mtimeNs / 1_000_000n);
}

/**
 * Refuses to overwrite a file whose values were masked when it was shown, under every policy: the
 * new content would hold the masks.
 */
export const unredacted: JudgeRule = (facts) => {
  const knowledge = knowledgeOf(facts);
  if (facts.action !== 'overwrite' || !knowledge.known || !facts.target.exists) return PASS;
  const { flags, atMs: seenAtMs } = knowledge.sighting;
  if (!flags.redacted || flags.notText) return PASS;
  return no(facts, { code: 'REDACTED_READ', next: 'use_edit', detail: { seenAtMs } });
};

/**
 * Requires that the destroyed lines were shown, unless the policy requires less. An overwrite needs
 * every line, uncut. A delete needs every line, and of a file too large to load only some. For a
 * file that is not text, a delete and a replacement by a moved or copied file need none. An insert
 * needs the lines next to it. An edit needs the lines that it touches.
 */
export const covered: JudgeRule = (facts, policy) => {
  const knowledge = knowledgeOf(facts);
  if (policy.seen === 'optional' || !knowledge.known) return PASS;
  if (!facts.target.exists || facts.target.kind !== 'file') return PASS;
  const { sighting } = knowledge;
  switch (facts.action) {
    case 'overwrite':
      return policy.overwrite === 'any' ? PASS : overwrite(facts, sighting);
    case 'delete':
      if (policy.overwrite === 'any' || sighting.flags.notText) return PASS;
      if (facts.target.sizeBytes > LIMITS.maxEditBytes && sighting.coverage.kind === 'lines') return PASS;
      return sighting.coverage.kind === 'whole' ? PASS : partial(facts, sighting);
    case 'edit':
    case 'insert':
      return lines(facts, sighting, policy);
    case 'create':
    case 'move':
    case 'mkdir':
      return PASS;
    default:
      return facts.action satisfies never;
  }
};

function overwrite(facts: Facts, sighting: Sighting): Ruling {
  const { flags } = sighting;
  const seenAtMs = sighting.atMs;
  // A file that is not text has no lines to show, so its description is enough, as for a delete.
  if (flags.notText && facts.contentKind === 'file') return PASS;
  if (flags.notText) return no(facts, { code: 'NOT_TEXT', next: 'other_tool', detail: { seenAtMs } });
  if (flags.clamped || sighting.coverage.kind !== 'whole') return partial(facts, sighting);
  return PASS;
}

/**
 * Refuses as PARTIALLY_READ. The refusal of an overwrite recommends an edit if lines were cut,
 * because a new read would cut them again. Otherwise the refusal recommends a read of the missing
 * lines.
 */
function partial(facts: Facts, sighting: Sighting): Ruling {
  const totalLines = facts.totalLines ?? sighting.totalLines;
  const cut = sighting.flags.clamped && facts.action === 'overwrite';
  const unread = totalLines === undefined ? undefined : missingLines(sighting.coverage, totalLines);
  const detail = {
    reason: cut ? ('clamped' as const) : undefined,
    // After an edit of a partly seen file, `coverage` may lack no line and still not be whole. Then
    // name all lines: only a read of all of them helps.
    missing:
      sighting.coverage.kind === 'whole' ? undefined : unread?.length === 0 ? allLines(totalLines) : unread,
    totalLines,
    seenAtMs: sighting.atMs,
  };
  return no(facts, { code: 'PARTIALLY_READ', next: cut ? 'use_edit' : 'read_range', detail });
}

function allLines(totalLines: number | undefined): LineRange[] | undefined {
  return totalLines === undefined ? undefined : [{ from: 1, to: totalLines }];
}

function lines(facts: Facts, sighting: Sighting, policy: Policy): Ruling {
  if (sighting.flags.notText)
    return no(facts, { code: 'NOT_TEXT', next: 'other_tool', detail: { seenAtMs: sighting.atMs } });
  // A session that does not know where its lines are now cannot name a line by its number.
  if (facts.action === 'insert' && facts.appends !== true && sighting.unplaced === true && facts.touched)
    return missing(facts, sighting, facts.touched);
  // Skip this check if the bytes changed: the view's line numbers are wrong until the gate maps
  // them to the current file.
  if (facts.touched === undefined || facts.freshness !== 'same') return PASS;
  if (sighting.lost !== undefined)
    return mustSeeLines(facts, sighting, policy) ? lost(facts, sighting) : PASS;
  const unseen = unseenOf(sighting.coverage, facts.touched);
  if (unseen.length === 0) return PASS;
  if (!mustSeeLines(facts, sighting, policy)) return note({ kind: 'unseen-lines', ranges: unseen });
  return missing(facts, sighting, unseen);
}

/**
 * The refusal for lines that are no longer in the model's context. Called only if the lines must
 * have been shown (see `mustSeeLines`).
 */
function lost(facts: Facts, sighting: Sighting): Ruling {
  const detail = { reason: sighting.lost, seenAtMs: sighting.atMs };
  return no(facts, { code: 'NOT_READ', next: 'read', detail });
}

/**
 * True if the touched lines must have been shown. For most edits the old text is proof enough. An
 * insert has no old text, and of a huge file the session may have seen only some pages.
 */
function mustSeeLines(facts: Facts, sighting: Sighting, policy: Policy): boolean {
  if (policy.partial === 'lines') return true;
  if (facts.action === 'insert') return policy.overwrite === 'whole';
  return sighting.pages !== undefined && sighting.coverage.kind !== 'whole';
}

function missing(facts: Facts, sighting: Sighting, unseen: readonly LineRange[]): Ruling {
  const totalLines = facts.totalLines ?? sighting.totalLines;
  const detail = { missing: unseen, totalLines, seenAtMs: sighting.atMs };
  return no(facts, { code: 'PARTIALLY_READ', next: 'read_range', detail });
}

/** The parts of `touched` that `coverage` does not include, sorted. */
export function unseenOf(coverage: Coverage, touched: readonly LineRange[]): LineRange[] {
  const wanted = mergeRanges(touched);
  const gaps = missingLines(coverage, wanted.at(-1)?.to ?? 0);
  const unseen: LineRange[] = [];
  let first = 0;
  for (const range of wanted) {
    // `wanted` and `gaps` are sorted, so gaps before this range are also before all later ranges.
    while ((gaps[first]?.to ?? range.from) < range.from) first++;
    for (let i = first; i < gaps.length; i++) {
      const gap = gaps[i];
      if (gap === undefined || gap.from > range.to) break;
      unseen.push({ from: Math.max(range.from, gap.from), to: Math.min(range.to, gap.to) });
    }
  }
  return unseen;
}

/**
 * A non-empty folder may be deleted only if this session has listed it in full and it is unchanged
 * since.
 */
export const folder: JudgeRule = (facts, policy) => {
  const { action, target } = facts;
  if (action !== 'delete' || !target.exists || target.kind !== 'directory') return PASS;
  if (policy.seen === 'optional') return PASS;
  if (facts.folder?.listedFull !== true)
    return no(facts, { code: 'NOT_READ', next: 'list', detail: { kind: 'directory' } });
  if (facts.folder.listingUnchanged === true) return PASS;
  const detail = { kind: 'directory', seenAtMs: facts.sighting?.atMs } as const;
  return no(facts, { code: 'STALE', next: 'list', detail });
};
