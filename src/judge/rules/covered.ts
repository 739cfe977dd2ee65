import { type Coverage, type LineRange, mergeRanges, missingLines } from '../../model/coverage.ts';
import type { Policy } from '../../model/policy.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { Facts } from '../facts.ts';
import { knowledgeOf } from '../knowledge.ts';
import { no, note, PASS, type Rule, type Ruling } from '../rule.ts';

/**
 * What is destroyed was shown. An overwrite needs every line, uncut and unredacted; a delete every line, or the description
 * of a binary; an insert its neighbours; an edit, by policy, the lines it touches or (with a notice) any view.
 */
export const covered: Rule = (facts, policy) => {
  const knowledge = knowledgeOf(facts);
  if (policy.seen === 'optional' || !knowledge.known) return PASS;
  if (!facts.target.exists || facts.target.kind !== 'file') return PASS;
  const { sighting } = knowledge;
  switch (facts.action) {
    case 'overwrite':
      return policy.overwrite === 'any' ? PASS : overwrite(facts, sighting);
    case 'delete':
      if (policy.overwrite === 'any' || sighting.flags.notText) return PASS;
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

/** Cut lines are cut again by the next read, so an edit is the way out; unseen lines only have to be read. */
function partial(facts: Facts, sighting: Sighting): Ruling {
  const totalLines = facts.totalLines ?? sighting.totalLines;
  const cut = sighting.flags.clamped && facts.action === 'overwrite';
  const unread = totalLines === undefined ? undefined : missingLines(sighting.coverage, totalLines);
  const detail = {
    reason: cut ? 'clamped' : undefined,
    // Edited after a partial view: every line there now was seen, but never together; only a read of all of it helps.
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
  // Line numbers of changed bytes say nothing about the view; the gate carries them over the change first.
  if (facts.touched === undefined || facts.freshness !== 'same') return PASS;
  if (sighting.lost !== undefined)
    return mustSeeLines(facts, sighting, policy) ? lost(facts, sighting) : PASS;
  const unseen = unseenOf(sighting.coverage, facts.touched);
  if (unseen.length === 0) return PASS;
  if (!mustSeeLines(facts, sighting, policy)) return note({ kind: 'unseen-lines', ranges: unseen });
  return missing(facts, sighting, unseen);
}

/** Which lines were shown is no longer known; without them only an anchor that proves itself will do. */
function lost(facts: Facts, sighting: Sighting): Ruling {
  const detail = { reason: sighting.lost, seenAtMs: sighting.atMs };
  return no(facts, { code: 'NOT_READ', next: 'read', detail });
}

/** An insert has no anchor that proves its place, and a page of a huge file stands for that page only. */
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

/** The parts of `touched` that `coverage` does not hold, sorted. */
export function unseenOf(coverage: Coverage, touched: readonly LineRange[]): LineRange[] {
  const wanted = mergeRanges(touched);
  const gaps = missingLines(coverage, wanted.at(-1)?.to ?? 0);
  const unseen: LineRange[] = [];
  let first = 0;
  for (const range of wanted) {
    // Both lists are sorted: gaps before this range lie before all later ranges too.
    while ((gaps[first]?.to ?? range.from) < range.from) first++;
    for (let i = first; i < gaps.length; i++) {
      const gap = gaps[i];
      if (gap === undefined || gap.from > range.to) break;
      unseen.push({ from: Math.max(range.from, gap.from), to: Math.min(range.to, gap.to) });
    }
  }
  return unseen;
}
