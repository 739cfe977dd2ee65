import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveSightings, deriveSightingsFrom } from '../../src/history/derive.ts';
import { HistoryIndex } from '../../src/history/history-index.ts';
import { IS_LONG, rounds } from '../support/rounds.ts';
import type { ScribeKind } from './scribe.ts';
import { SCRIBES } from './scribes/all.ts';
import { seenLines } from './seen-lines.ts';
import { ROOT, type Step } from './step.ts';

/**
 * A conversation with each kind of call, a compaction that keeps the first read, a rewind and a
 * cleared result.
 */
const CONVERSATION: readonly Step[] = [
  { do: 'call', id: '1', tool: 'read', path: 'a.ts' },
  { do: 'result', id: '1' },
  { do: 'compact', keep: ['1'] },
  { do: 'call', id: '2', tool: 'read', path: 'b.ts', lines: [2, 3] },
  { do: 'result', id: '2' },
  { do: 'call', id: '3', tool: 'edit', path: 'b.ts' },
  { do: 'result', id: '3' },
  { do: 'call', id: '4', tool: 'write', path: 'c.ts', content: 'c\n' },
  { do: 'result', id: '4' },
  { do: 'call', id: '5', tool: 'shell', command: 'cat d.ts' },
  { do: 'result', id: '5', shows: { path: 'd.ts', lines: [1, 5] } },
  { do: 'rewind', before: '5' },
  { do: 'blank', id: '4' },
];

function recordsOf(kind: ScribeKind, steps: readonly Step[]): object[] {
  const scribe = kind.open();
  return steps.flatMap((step) => scribe.write(step) ?? []);
}

/** So many levels that a function which calls itself for each level fails. */
const LEVELS = rounds(20_000, 100_000);

const lineOf = (record: unknown): string => `${JSON.stringify(record)}\n`;
const READ_B: readonly Step[] = [
  { do: 'call', id: 'b', tool: 'read', path: 'b.ts' },
  { do: 'result', id: 'b' },
];

it.each([[null], [5], [{ fromat: 'codex' }], [{ cwd: 5 }], [{ toString: 'x' }]])(
  'options %j are a fault',
  (wrong) => {
    expect(() => deriveSightings('', wrong as unknown as { cwd: string })).toThrow(
      expect.objectContaining({ code: 'MISUSE' }),
    );
  },
);

describe.each(SCRIBES)('$name, hostile', (kind) => {
  const options = { format: kind.format, cwd: ROOT };

  it('a byte order mark, and the line ends of Windows, change nothing', () => {
    const text = recordsOf(kind, READ_B).map(lineOf).join('');
    const windows = `\uFEFF${text.replaceAll('\n', '\r\n')}`;
    expect(deriveSightings(windows, { cwd: ROOT })).toEqual(deriveSightings(text, { cwd: ROOT }));
    expect(deriveSightings(windows, options).sightings).not.toEqual([]);
  });

  it('skips records with any value in any place, and never crashes', () => {
    const records = recordsOf(kind, CONVERSATION);
    const wrong = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('\0', '\ud800', -1, 1e308, '__proto__', [], {}, null),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(), wrong), { minLength: 1, maxLength: 8 }), (changes) => {
        const damaged = structuredClone(records);
        for (const [at, value] of changes) replaceSomewhere(damaged, at, value);
        const fromRecords = deriveSightings(damaged, options);
        const fromBytes = deriveSightings(damaged.map(lineOf).join(''), options);
        for (const { path } of [...fromRecords.sightings, ...fromBytes.sightings])
          expect(path.startsWith('/')).toBe(true);
      }),
      { numRuns: rounds(8, 1000) },
    );
  });

  it('skips one record with very many levels of JSON', () => {
    const deep = '['.repeat(LEVELS) + ']'.repeat(LEVELS);
    const nested = recordsOf(kind, READ_B).map((record) => {
      const text = JSON.stringify(record);
      return `${text.slice(0, -1)},"deep":${deep}}\n`;
    });
    const lines = [`${deep}\n`, `{"a":${deep}}\n`, ...nested].join('');
    expect(seenLines(deriveSightings(lines, options).sightings)).toEqual(['b.ts read whole']);
    const half = deriveSightings(`${'['.repeat(LEVELS)}\n${lines}`, options);
    expect(half.skipped.reasons['not-json']).toBe(1);
  });

  it('treats names such as __proto__ as ordinary names', () => {
    const steps: Step[] = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'].flatMap(
      (name): Step[] => [
        { do: 'call', id: name, tool: 'read', path: `${name}` },
        { do: 'result', id: name },
      ],
    );
    const text = recordsOf(kind, steps)
      .map((record) => JSON.stringify(record).replace('{', '{"__proto__":{"isError":true,"path":"x"},'))
      .map((line) => `${line}\n`)
      .join('');
    const { sightings } = deriveSightings(text, options);
    expect(seenLines(sightings)).toEqual(
      [
        '__proto__ read whole',
        'constructor read whole',
        'hasOwnProperty read whole',
        'toString read whole',
      ].sort(),
    );
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  it('ignores paths with NUL, and handles lone surrogates', () => {
    const steps: Step[] = ['a\0b.ts', '\ud800.ts'].flatMap((path, id): Step[] => [
      { do: 'call', id: `${id}`, tool: 'read', path },
      { do: 'result', id: `${id}` },
    ]);
    const { sightings } = deriveSightings(recordsOf(kind, steps), options);
    expect(sightings.some((sighting) => sighting.path.includes('\0'))).toBe(false);
  });

  it('counts binary data between the records as skipped, and reads the records', () => {
    const binary = Buffer.concat([randomBytes(5000), Buffer.from('\n\0\n\xff\n')]);
    const text = Buffer.from(recordsOf(kind, READ_B).map(lineOf).join(''));
    const { sightings, skipped } = deriveSightings(Buffer.concat([binary, text, binary]), options);
    expect(seenLines(sightings)).toEqual(['b.ts read whole']);
    expect(skipped.reasons['not-json']).toBeGreaterThan(2);
  });

  // All formats share the list of unanswered calls, so `npm test` tries only one of them.
  it.runIf(IS_LONG || kind === SCRIBES[0])('drops calls that are never answered', () => {
    const call = recordsOf(kind, READ_B.slice(0, 1)).at(-1);
    const text = JSON.stringify(call);
    const index = new HistoryIndex(options);
    // A format may ignore a record whose id it knows, so each call and each record gets an id of its own.
    for (let at = 0; at < 10_200; at += 1)
      index.feed(
        Buffer.from(
          `${text.replace(/"(?:b|m-b)"|(?<="uuid":")[^"]+"/g, (id) => id.replace(/"$/, `-${at}"`))}\n`,
        ),
      );
    expect(index.skipped.reasons['call-given-up']).toBeGreaterThan(0);
    expect(index.sightings()).toEqual([]);
  });
});

describe('a hostile transcript of no format', () => {
  it.each<[string, string | Buffer]>([
    ['binary', randomBytes(100_000)],
    ['one line of NUL', '\0'.repeat(1000)],
    ['words', 'Dear diary,\ntoday I read a file.\n'],
    ['numbers', '1\n2\n3\n'],
    ['an unknown record', '{"level":"info","msg":"started"}\n'],
    ['deep JSON', '['.repeat(100_000)],
  ])('%s is refused with a clear fault', (_, transcript) => {
    expect(() => deriveSightings(transcript)).toThrow(
      /^not a transcript of a known format: .*the known formats are thread-events/s,
    );
  });
});

describe('memory', () => {
  it('is not filled by a line of 200 MB, which is skipped and counted', async () => {
    const piece = Buffer.alloc(1 << 20, 'x');
    const [first = {}, ...rest] = recordsOf(kindOf('claude-code'), READ_B).map((record) =>
      Buffer.from(lineOf(record)),
    );
    let most = 0;
    async function* chunks(): AsyncGenerator<Uint8Array> {
      const before = process.memoryUsage().arrayBuffers;
      yield first as Buffer;
      for (let count = 0; count < 200; count += 1) {
        yield piece;
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
      yield Buffer.from('\n');
      yield* rest;
    }
    const { sightings, skipped } = await deriveSightingsFrom(chunks(), { cwd: ROOT });
    expect(seenLines(sightings)).toEqual(['b.ts read whole']);
    expect(skipped).toEqual({ count: 1, reasons: { 'line-too-long': 1 } });
    expect(most).toBeLessThan(160 << 20);
  });

  it('does not grow with the size of results', () => {
    const index = new HistoryIndex({ format: 'claude-code', cwd: ROOT });
    const heap = process.memoryUsage();
    const text = 'x'.repeat(100_000);
    for (let count = 0; count < 1000; count += 1) {
      const scribe = kindOf('claude-code sub-agent').open();
      const id = `c${count}`;
      const [call = {}] = scribe.write({ do: 'call', id, tool: 'read', path: 'b.ts' }) ?? [];
      const [result = {}] = scribe.write({ do: 'result', id }) ?? [];
      index.feed(Buffer.from(lineOf(call) + lineOf(result).replace('b.ts 1', `b.ts ${text}`)));
    }
    expect(JSON.stringify(index.sightings()).length).toBeLessThan(2 << 20);
    expect(process.memoryUsage().arrayBuffers - heap.arrayBuffers).toBeLessThan(100 << 20);
  });
});

function kindOf(name: string): ScribeKind {
  const kind = SCRIBES.find((one) => one.name === name);
  if (kind === undefined) throw new Error(`no scribe ${name}`);
  return kind;
}

/** Replaces the value at one place in a nested object. `at` chooses among all places. */
function replaceSomewhere(tree: object, at: number, value: unknown): void {
  const places: [object, string][] = [];
  const collect = (node: object): void => {
    for (const [key, child] of Object.entries(node)) {
      places.push([node, key]);
      if (typeof child === 'object' && child !== null) collect(child);
    }
  };
  collect(tree);
  const place = places[at % places.length];
  if (place !== undefined) Reflect.set(place[0], place[1], value);
}
