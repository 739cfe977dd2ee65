import { type Coverage, type LineRange, mergeRanges, missingLines } from '../../model/coverage.ts';
import type { Policy } from '../../model/policy.ts';
import type { Sighting } from '../../model/sighting.ts';
import { type Facts, knowledgeOf } from '../facts.ts';
import { type JudgeRule, no, note, PASS, type Ruling } from '../ruling.ts';

/**
 * Requires that the destroyed lines were shown. An overwrite needs every line, uncut and unmasked. A delete needs every
 * line, or the description of a binary; of a file too large to load, a current view. An insert needs the lines next to
 * it. An edit needs the lines it touches or any view (with a notice), by policy.
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
      if (facts.target.sizeBytes > policy.maxEditBytes && sighting.coverage.kind === 'lines') return PASS;
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
  if (flags.notText) return no(facts, { code: 'NOT_TEXT', next: 'other_tool', detail: { seenAtMs } });
  if (flags.redacted) return no(facts, { code: 'REDACTED_READ', next: 'use_edit', detail: { seenAtMs } });
  if (flags.clamped || sighting.coverage.kind !== 'whole') return partial(facts, sighting);
  return PASS;
}

/**
 * Refuses as PARTIALLY_READ. A new read would cut clamped lines again, so an edit is the way out; unseen lines only
 * need a read.
 */
function partial(facts: Facts, sighting: Sighting): Ruling {
  const totalLines = facts.totalLines ?? sighting.totalLines;
  const cut = sighting.flags.clamped && facts.action === 'overwrite';
  const unread = totalLines === undefined ? undefined : missingLines(sighting.coverage, totalLines);
  const detail = {
    reason: cut ? 'clamped' : undefined,
    // After an edit of a partly seen file, the session has seen each line, but never the whole file. Only a read of all
    // lines helps.
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
  // If the bytes changed, line numbers of the view are wrong; the gate first maps them to the current file.
  if (facts.touched === undefined || facts.freshness !== 'same') return PASS;
  if (sighting.lost !== undefined)
    return mustSeeLines(facts, sighting, policy) ? lost(facts, sighting) : PASS;
  const unseen = unseenOf(sighting.coverage, facts.touched);
  if (unseen.length === 0) return PASS;
  if (!mustSeeLines(facts, sighting, policy)) return note({ kind: 'unseen-lines', ranges: unseen });
  return missing(facts, sighting, unseen);
}

/**
 * Refuses because it is no longer known which lines were shown. Without them only an edit with a checked anchor is
 * allowed.
 */
function lost(facts: Facts, sighting: Sighting): Ruling {
  const detail = { reason: sighting.lost, seenAtMs: sighting.atMs };
  return no(facts, { code: 'NOT_READ', next: 'read', detail });
}

/**
 * True if the touched lines must have been shown. An insert has no anchor that proves its place, and a page of a huge
 * file covers only that page.
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
    // Both lists are sorted, so gaps before this range are also before all later ranges.
    while ((gaps[first]?.to ?? range.from) < range.from) first++;
    for (let i = first; i < gaps.length; i++) {
      const gap = gaps[i];
      if (gap === undefined || gap.from > range.to) break;
      unseen.push({ from: Math.max(range.from, gap.from), to: Math.min(range.to, gap.to) });
    }
  }
  return unseen;
}
