import fc from 'fast-check';
import { HistoryIndex } from '../../src/history/history-index.ts';
import type { HistorySighting } from '../../src/history/history-sighting.ts';
import type { Resumed } from '../../src/model/transcript.ts';
import { NOISE, RANDOM_STEPS } from './random-steps.ts';
import type { ScribeKind } from './scribe.ts';
import { seenLines } from './seen-lines.ts';
import { ROOT, type Step } from './step.ts';

/** A random transcript, and the positions at which it is cut into chunks. */
interface Growth {
  readonly steps: readonly Step[];
  readonly noise: readonly (readonly [after: number, line: string])[];
  readonly cuts: readonly number[];
}

const GROWTH: fc.Arbitrary<Growth> = fc.record({
  steps: RANDOM_STEPS,
  noise: fc.array(fc.tuple(fc.nat(40), NOISE), { maxLength: 3 }),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
});

/** Checks that many random transcripts give the same result however they are cut. */
export function checkFold(kind: ScribeKind, runs: number): void {
  fc.assert(
    fc.property(GROWTH, (growth) => {
      const { records, bytes } = written(kind, growth);
      const whole = rebuilt(kind, bytes);
      same(whole, inChunks(kind, bytes, growth), 'in chunks');
      same(whole, truncated(kind, bytes, growth), 'with a last line that was cut off for a while');
      const parsed = new HistoryIndex({ format: kind.format, cwd: ROOT });
      for (const record of records) parsed.add(record);
      const [read, skimmed] = [parsed.sightings(), whole.sightings].map(seenLines);
      if (JSON.stringify(read) !== JSON.stringify(skimmed))
        throw new Error(`records give ${JSON.stringify(read)}, bytes ${JSON.stringify(skimmed)}`);
    }),
    { numRuns: runs },
  );
}

interface Known {
  readonly sightings: readonly HistorySighting[];
  readonly skipped: Resumed['skipped'];
  readonly records: number;
}

function written(kind: ScribeKind, { steps, noise }: Growth): { records: object[]; bytes: Buffer } {
  const scribe = kind.open();
  const records = steps.flatMap((step) => scribe.write(step) ?? []);
  const lines = records.map((record) => JSON.stringify(record));
  for (const [after, line] of noise) lines.splice(after, 0, line);
  return { records, bytes: Buffer.from(lines.map((line) => `${line}\n`).join('')) };
}

function rebuilt(kind: ScribeKind, bytes: Buffer): Known {
  const index = new HistoryIndex({ format: kind.format, cwd: ROOT });
  index.feed(bytes);
  index.end();
  return known(index);
}

function inChunks(kind: ScribeKind, bytes: Buffer, { cuts }: Growth): Known {
  const index = new HistoryIndex({ format: kind.format, cwd: ROOT });
  let fed = 0;
  const places = [...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length].sort((a, b) => a - b);
  for (const place of places) {
    index.feed(bytes.subarray(fed, place));
    fed = place;
  }
  index.end();
  return known(index);
}

/**
 * Reads a file while it grows: each time to its present end, which may be in the middle of a line.
 */
function truncated(kind: ScribeKind, bytes: Buffer, { cuts }: Growth): Known {
  const index = new HistoryIndex({ format: kind.format, cwd: ROOT });
  const places = cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b);
  for (const place of [...places, bytes.length]) {
    if (place < index.offset) continue;
    index.feed(bytes.subarray(index.offset, place));
    index.end();
  }
  return known(index);
}

function known(index: HistoryIndex): Known {
  return { sightings: index.sightings(), skipped: index.skipped, records: index.records };
}

function same(whole: Known, other: Known, how: string): void {
  const [one, two] = [whole, other].map((known) => JSON.stringify(known));
  if (one !== two) throw new Error(`${how}: ${two}\ninstead of ${one}`);
}
