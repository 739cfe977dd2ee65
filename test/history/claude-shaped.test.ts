import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HistoryIndex } from '../../src/history/history-index.ts';
import type { JsonRecord } from '../../src/model/record.ts';
import { rounds } from '../support/rounds.ts';

interface Generator {
  readonly SHAPES: Readonly<Record<'main' | 'sub-agent', object>>;
  transcriptLines(shape: object, seed: number): Iterable<string>;
}

const { SHAPES, transcriptLines }: Generator = await import(
  new URL('../../bench/transcripts.mjs', import.meta.url).href
);

/** Changes that a line can undergo in a real transcript. */
const LINE_CHANGES = {
  nothing: (line) => [line],
  'is written twice': (line) => [line, line],
  'is lost': () => [],
  'has its keys in another order': (line) => [
    JSON.stringify(Object.fromEntries(Object.entries(parsed(line)).reverse())),
  ],
  'is written with spaces': (line) => [JSON.stringify(parsed(line), null, 1).replaceAll('\n', ' ')],
  'continues an earlier record': (line, parents) => {
    const parentUuid = parents.at(-7) ?? null;
    return [JSON.stringify({ ...parsed(line), parentUuid })];
  },
  'is written again with a cleared result': (line) => [
    line,
    again(line, '[Old tool result content cleared]'),
  ],
  'is an error': (line) => [line.replace('"type":"tool_result",', '"type":"tool_result","is_error":true,')],
  'belongs to a sub-agent': (line) => [line.replace('"isSidechain":false', '"isSidechain":true')],
  'is followed by a summary': (line) => [
    line,
    JSON.stringify({ ...parsed(line), uuid: uuid(), type: 'user', message: {}, isCompactSummary: true }),
  ],
} satisfies Record<string, (line: string, parents: readonly unknown[]) => readonly string[]>;

const RANDOM_CHANGES = fc.array(fc.tuple(fc.nat(299), fc.constantFrom(...Object.values(LINE_CHANGES))), {
  maxLength: 12,
});

it.each(['main', 'sub-agent'] as const)(
  'the bytes of a %s transcript give the same result as its records',
  (shape) => {
    fc.assert(
      fc.property(fc.nat(1000), RANDOM_CHANGES, (seed, changes) => {
        const lines = transcript(SHAPES[shape], seed + 1, changes);
        const fed = new HistoryIndex({ format: 'claude-code' });
        fed.feed(Buffer.from(lines.map((line) => `${line}\n`).join('')));
        const read = new HistoryIndex({ format: 'claude-code' });
        for (const line of lines) read.add(parsed(line));
        expect(fed.sightings()).toEqual(read.sightings());
        expect(fed.records).toBe(read.records);
        expect(fed.skipped).toEqual(read.skipped);
      }),
      { numRuns: rounds(12, 40) },
    );
  },
);

function transcript(
  shape: object,
  seed: number,
  changes: readonly (readonly [at: number, change: (typeof LINE_CHANGES)[keyof typeof LINE_CHANGES]])[],
): readonly string[] {
  const lines: string[] = [];
  const parents: unknown[] = [];
  for (const line of transcriptLines(shape, seed)) {
    const change = changes.find(([at]) => at === parents.length)?.[1] ?? LINE_CHANGES.nothing;
    lines.push(...change(line, parents));
    parents.push(parsed(line)['uuid']);
    if (parents.length === 300) return lines;
  }
  return lines;
}

function parsed(line: string): JsonRecord {
  return JSON.parse(line);
}

let named = 0;

/** An id that no record uses yet. */
function uuid(): string {
  named += 1;
  return `ffffffff-0000-4000-8000-${named.toString(16).padStart(12, '0')}`;
}

/** A copy of the record with another id and another result. */
function again(line: string, content: string): string {
  const record = parsed(line);
  const results = line.match(/"tool_use_id":"([^"]+)","type":"tool_result"/);
  const message = { role: 'user', content: [{ tool_use_id: results?.[1], type: 'tool_result', content }] };
  return JSON.stringify(
    results === null ? record : { ...record, uuid: uuid(), parentUuid: record['uuid'], message },
  );
}
