import type { HistorySighting } from '../../src/history/history-sighting.ts';
import { formatRanges } from '../../src/report/amounts.ts';
import { ROOT } from './step.ts';

/**
 * Sightings (lines that a model was shown) as `PATH HOW LINES`, without duplicates, sorted. HOW is
 * the kind of call, such as `read`. LINES is `*` for an edit, because hosts record different lines
 * of it.
 */
export function seenLines(sightings: readonly HistorySighting[]): string[] {
  return [...new Set(sightings.map(seenLine))].sort();
}

function seenLine({ path, how, coverage }: HistorySighting): string {
  const name = path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length + 1) : path;
  const lines = coverage.kind === 'lines' ? formatRanges(coverage.ranges) : coverage.kind;
  return `${name} ${how} ${how === 'edit' ? '*' : lines}`;
}
