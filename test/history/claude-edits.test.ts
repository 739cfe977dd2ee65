import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fingerprintOf } from '../../src/disk/hash.ts';
import { deriveSightings } from '../../src/history/derive.ts';
import type { HistorySighting } from '../../src/history/history-sighting.ts';
import { joinSightings } from '../../src/history/join.ts';
import { type Coverage, rangesOf } from '../../src/model/coverage.ts';
import { lineCount, splitLines } from '../../src/text/lines.ts';

const PATH = '/repo/a.ts';
const piece = fc.constantFrom('a', 'b', '"', '\\', '\\n', 'ü', '😀', '\t', 'return x;', '');
const line = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
const text = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 12 }), fc.boolean())
  .map(([lines, ended]) => lines.join('\n') + (ended ? '\n' : ''));
/** A page, or an edit: which part is replaced, and by what. */
type Act =
  | { readonly kind: 'read'; readonly from: number; readonly count: number }
  | {
      readonly kind: 'edit';
      readonly at: number;
      readonly length: number;
      readonly to: string;
      readonly all: boolean;
    };
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), from: fc.nat(11), count: fc.integer({ min: 1, max: 12 }) }),
  fc.record({
    kind: fc.constant('edit' as const),
    at: fc.nat(200),
    length: fc.integer({ min: 1, max: 20 }),
    to: fc.oneof(
      line,
      fc.tuple(line, line).map((lines) => lines.join('\n')),
    ),
    all: fc.boolean(),
  }),
);

/** Records of reads and edits of one file, and the file at the end. */
function conversation(start: string, acts: readonly Act[]): { records: object[]; now: string } {
  const records: object[] = [];
  let now = start;
  const put = (fields: object, after: object = {}): void => {
    const parentUuid = records.length === 0 ? null : uuidOf(records.length);
    const uuid = uuidOf(records.length + 1);
    const timestamp = '2026-01-02T03:04:05.678Z';
    records.push({ parentUuid, isSidechain: false, ...fields, uuid, timestamp, ...after, cwd: '/repo' });
  };
  for (const [count, one] of acts.entries()) {
    const id = `toolu_${count}`;
    const made = one.kind === 'read' ? page(now, one) : edited(now, one);
    if (made === undefined) continue;
    const block = { type: 'tool_use', id, name: made.name, input: { file_path: PATH, ...made.input } };
    put({ message: { role: 'assistant', content: [block], stop_reason: 'tool_use' }, type: 'assistant' });
    const result = { tool_use_id: id, type: 'tool_result', content: made.content };
    put({ type: 'user', message: { role: 'user', content: [result] } }, { toolUseResult: made.detail });
    now = made.after;
  }
  return { records, now };
}

interface Made {
  readonly name: string;
  readonly input: object;
  readonly content: string;
  readonly detail: object;
  readonly after: string;
}

function page(now: string, { from, count }: { from: number; count: number }): Made | undefined {
  // The host counts the empty line after a final newline.
  const lines = now.split('\n');
  const shown = lines.slice(from, from + count);
  if (shown.length === 0) return undefined;
  const numbers = { numLines: shown.length, startLine: from + 1, totalLines: lines.length };
  const file = { filePath: PATH, content: shown.join('\n'), ...numbers };
  const content = shown.map((one, index) => `${from + 1 + index}\t${one}`).join('\n');
  const input = { offset: from + 1, limit: count };
  return { name: 'Read', input, content, detail: { type: 'text', file }, after: now };
}

function edited(
  now: string,
  { at, length, to, all }: { at: number; length: number; to: string; all: boolean },
): Made | undefined {
  const oldString = now.slice(at % Math.max(1, now.length)).slice(0, length);
  if (oldString === '' || !oldString.isWellFormed()) return undefined;
  const put = (): string => to;
  const after = all ? now.replaceAll(oldString, put) : now.replace(oldString, put);
  const detail = { filePath: PATH, oldString, newString: to, originalFile: now, structuredPatch: [{}] };
  const input = { old_string: oldString, new_string: to, ...(all ? { replace_all: true } : {}) };
  return {
    name: 'Edit',
    input,
    content: 'Done.',
    detail: { ...detail, userModified: false, replaceAll: all },
    after,
  };
}

it('edits carried by bytes license what edits carried by text license', () => {
  fc.assert(
    fc.property(text, fc.array(act, { minLength: 1, maxLength: 8 }), (start, acts) => {
      const { records, now } = conversation(start, acts);
      const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
      const byBytes = confirmed(deriveSightings(lines, 'claude-code').sightings, now);
      const byText = confirmed(deriveSightings(records, 'claude-code').sightings, now);
      expect(byBytes).toEqual(byText);
    }),
    { numRuns: 500 },
  );
});

/** The lines that the disk confirms. */
function confirmed(sightings: readonly HistorySighting[], now: string): readonly string[] {
  const bytes = Buffer.from(now);
  const totalLines = lineCount(now);
  const disk = { fingerprint: fingerprintOf(bytes), totalLines, bytes };
  const joined = joinSightings(sightings, disk);
  const coverage: Coverage =
    joined === undefined || joined.flags.unverified ? { kind: 'none' } : joined.coverage;
  const all = splitLines(now);
  return rangesOf(coverage, totalLines).flatMap(({ from, to }) =>
    all.slice(from - 1, to).map((one, index) => `${from + index} ${one}`),
  );
}

function uuidOf(count: number): string {
  return `${count.toString(16).padStart(8, '0')}-0000-4000-8000-${'0'.repeat(12)}`;
}
