import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { deriveSightings } from '../../src/history/derive.ts';
import { HistoryIndex } from '../../src/history/history-index.ts';
import type { HistorySighting } from '../../src/history/history-sighting.ts';
import { formatRanges } from '../../src/report/amounts.ts';
import { ROOT } from './step.ts';

const FOLDER = new URL('../fixtures/transcripts/', import.meta.url);

/**
 * The lines of files that the model of each transcript has seen, as `CALL PATH HOW LINES of TOTAL`.
 */
const EXPECTED = JSON.parse(readFileSync(new URL('expected.json', FOLDER), 'utf8')) as Record<
  string,
  { readonly format: string; readonly records: number; readonly seen: readonly string[] }
>;

describe('transcripts of real runs', () => {
  it('all have expected results', () => {
    const transcripts = readdirSync(FOLDER).filter(
      (name) => name !== 'expected.json' && name !== 'README.md',
    );
    expect(transcripts.sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  it.each(Object.keys(EXPECTED))('%s gives the expected views', (name) => {
    const { format, records, sightings, skipped } = deriveSightings(readFileSync(new URL(name, FOLDER)), {
      cwd: ROOT,
    });
    expect({ format, records, seen: sightings.map(seenLine) }).toEqual(EXPECTED[name]);
    expect(skipped).toEqual({ count: 0, reasons: {} });
  });

  it.each(Object.keys(EXPECTED).filter((name) => name.endsWith('.jsonl')))(
    '%s gives the same views when it is read line by line',
    (name) => {
      const bytes = readFileSync(new URL(name, FOLDER));
      const index = new HistoryIndex({ cwd: ROOT });
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, end + 1))
        index.feed(bytes.subarray(index.offset, end + 1));
      index.feed(bytes.subarray(index.offset));
      expect(index.sightings().map(seenLine)).toEqual(EXPECTED[name]?.seen);
    },
  );
});

function seenLine({ callId, path, how, coverage, totalLines }: HistorySighting): string {
  const lines = coverage.kind === 'lines' ? formatRanges(coverage.ranges) : coverage.kind;
  return `${callId} ${path} ${how} ${lines} of ${totalLines ?? '?'}`;
}
