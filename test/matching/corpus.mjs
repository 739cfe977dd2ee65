import { readFileSync } from 'node:fs';
import { KINDS, REFUSALS, seeded } from './mistakes.mjs';

const SEED = 20_261_115;

/** Cases of every kind of mistake, the same number of each, and the edits that must be refused. */
export function corpus() {
  const hunks = JSON.parse(readFileSync(new URL('hunks.json', import.meta.url), 'utf8'));
  const all = Object.entries(KINDS).map(([kind, make]) => ({ kind, cases: casesOf(hunks, make) }));
  const count = Math.min(...all.map(({ cases }) => cases.length));
  return {
    hunks: hunks.length,
    kinds: all.map(({ kind, cases }) => ({ kind, cases: cases.slice(0, count) })),
    refusals: Object.entries(REFUSALS).map(([kind, make]) => ({ kind, cases: casesOf(hunks, make) })),
  };
}

/**
 * Applies a mistake to every hunk three times, with random details. So even a mistake that fits few
 * hunks gives enough cases.
 */
function casesOf(hunks, make) {
  const random = seeded(SEED);
  const cases = [0, 1, 2].flatMap(() =>
    hunks.map((hunk) => make(hunk, random)).filter((each) => each !== undefined),
  );
  const seen = new Set();
  return cases.filter(({ before, oldString, newString }) => {
    const key = JSON.stringify([before, oldString, newString]);
    return !seen.has(key) && seen.add(key);
  });
}

/**
 * The result of an engine: `right`, `damaged` (the right place; other spacing, quotes or escapes),
 * `refused`, or `wrong` (any other text, or any text if the edit must be refused).
 */
export function judge(engine, { before, after, oldString, newString }) {
  const result = engine(before, oldString, newString);
  if (result === undefined) return 'refused';
  if (after === undefined) return 'wrong';
  if (result === after) return 'right';
  return bare(result) === bare(after) ? 'damaged' : 'wrong';
}

/** Counts how often an engine gives each result, for each group of cases. */
export function score(engine, groups) {
  return groups.map(({ kind, cases }) => {
    const counts = { right: 0, damaged: 0, refused: 0, wrong: 0 };
    for (const each of cases) counts[judge(engine, each)] += 1;
    return { kind, ...counts };
  });
}

function bare(text) {
  return text
    .replaceAll(/&(?:lt|gt|amp|quot);|&#39;|\\[nt"'`\\]/g, '')
    .replaceAll(/[\s"'`‘’“”–—\-\\<>&]|\d+[\t→:]/g, '');
}
