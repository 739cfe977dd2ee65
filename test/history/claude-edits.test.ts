import { describe, expect, it } from 'vitest';
import { type Act, confirmedLines, conversation } from './claude-file.ts';
import { checkEdits, licensed } from './edit-run.ts';

const RUNS = 150;
const read = (from: number, to: number): Act => ({ kind: 'read', from: from - 1, count: to - from + 1 });
const part = (at: number, length: number, to: string) => ({ at, length, to });
const edit = (...given: Parameters<typeof part>): Act & { kind: 'edit' } => {
  return { kind: 'edit', ...part(...given), all: false, strips: false };
};
const outside = (...given: Parameters<typeof part>): Act => ({ kind: 'outside', ...part(...given) });

const CASES: readonly (readonly [rule: string, start: string, acts: readonly Act[], seen: string[]])[] = [
  [
    'adjacent pages are tracked separately',
    'a\nb\nc\nd\n',
    [read(1, 2), read(3, 4), edit(0, 1, 'A'), outside(6, 1, 'D')],
    ['1 A', '2 b'],
  ],
  [
    'adjacent pages stay separate through several edits',
    '\na😀\na\na😀😀\na\n\n\na',
    [{ ...edit(79, 1, '\n'), all: true }, read(4, 7), read(8, 8), edit(0, 4, '\na'), edit(83, 7, '\n')],
    ['3 ', '4 ', '5 ', '6 ', '7 ', '8 '],
  ],
  [
    'pages that an edit joins are one page afterwards',
    'a\nb\nc\nd\n',
    [read(1, 2), read(3, 4), edit(2, 3, 'B')],
    ['1 a', '2 B', '3 d'],
  ],
  ['lines that move up beside equal lines', 'p\n\nX\n\nq\n', [read(4, 4), edit(0, 4, 'p')], ['2 ']],
  ['lines after removed lines', 'a\nb\nc\n', [read(3, 3), edit(2, 2, '')], ['2 c']],
  [
    'a line that was joined with its neighbour is not known',
    'a\nb\nc\n',
    [read(2, 3), edit(1, 1, '')],
    ['2 c'],
  ],
  [
    'each place of a replacement is tracked separately',
    'x\nb\nc\nx\ne\n',
    [read(1, 2), read(5, 5), { ...edit(0, 1, 'y\ny'), all: true }],
    ['1 y', '2 y', '3 b', '7 e'],
  ],
  ['a text that was removed', 'a\nb\nc\n', [read(1, 3), edit(2, 1, '')], ['1 a', '2 ', '3 c']],
  [
    'a text that was removed with its newline',
    'a\nb\nc\n',
    [read(1, 3), { ...edit(2, 1, ''), strips: true }],
    ['1 a', '2 c'],
  ],
  ['text written into an unseen line is not known', 'axa\nb\n', [read(2, 2), edit(1, 1, 'xa\nax')], ['3 b']],
  [
    'a line is not known if only its beginning was written',
    'x\nb\n',
    [read(2, 2), edit(0, 1, 'x\ny')],
    ['3 b'],
  ],
  [
    'an empty line that is no longer empty',
    'a\n\nc\nd\n',
    [read(2, 2), outside(2, 0, 'b'), edit(0, 1, 'A\nA'), outside(4, 1, '')],
    [],
  ],
  [
    'the whole of a file that has grown since',
    'a\nb\n',
    [read(1, 3), outside(3, 1, '\nc\n'), edit(0, 1, 'A\nA')],
    ['1 A', '2 A', '3 b'],
  ],
  [
    'a line that has become the last one',
    'x\na\nb\nc\n',
    [read(2, 2), edit(0, 1, 'y\ny'), outside(5, 5, '')],
    ['3 a'],
  ],
  ['a line shown with half of its ending', 'a\r\nb\r\n', [read(1, 1)], ['1 a']],
  ['more of a line ending than was shown', 'a\r\n', [read(1, 2), outside(1, 0, '\r')], []],
  [
    'lines shown with other endings than their neighbours',
    'a\nb\nc\n',
    [read(2, 3), outside(3, 0, '\r'), read(1, 1), edit(0, 1, 'A\nA')],
    ['1 A', '2 A', '3 b', '4 c'],
  ],
];

describe('the lines that are known after an edit', () => {
  it.each(CASES)('%s', (_, start, acts, seen) => {
    const { byBytes, byText, known } = licensed(start, acts);
    expect({ byBytes, byText }).toEqual({ byBytes: seen, byText: seen });
    expect(known.told).toEqual(expect.arrayContaining(seen));
  });

  it(`are exactly those that were shown or written: ${RUNS} random conversations`, () => checkEdits(RUNS));
});

describe('lines that were known from a result are forgotten with the result', () => {
  const text = 'a\nb\nc\n';
  const all = ['1 A', '2 b', '3 c'];
  const again: readonly Act[] = [read(1, 4), edit(0, 1, 'x'), read(1, 4), edit(0, 1, 'A')];

  it.each<[string, readonly Act[], readonly string[], string[]]>([
    ['a read that was edited', [read(1, 4), edit(0, 1, 'A')], ['toolu_0'], []],
    ['a read before several edits', [read(1, 4), edit(0, 1, 'x'), edit(0, 1, 'A')], ['toolu_0'], []],
    ['one of two pages that were read', [read(1, 2), read(3, 4), edit(0, 1, 'A')], ['toolu_1'], []],
    [
      'the result of the edit itself, which shows nothing',
      [read(1, 4), edit(0, 1, 'x'), edit(0, 1, 'A')],
      ['toolu_1'],
      all,
    ],
    ['the first of two reads', again, ['toolu_0'], all],
    ['both of two reads', again, ['toolu_0', 'toolu_2'], []],
  ])('%s', (_, acts, gone, seen) => {
    const { records, known } = conversation(text, acts);
    const replacements = gone.map((toolUseId) => ({ kind: 'tool-result', toolUseId, replacement: 'x' }));
    const cut = [...records, { type: 'content-replacement', replacements }];
    const lines = cut.map((record) => `${JSON.stringify(record)}\n`).join('');
    expect(confirmedLines(lines, known.text)).toEqual(seen);
    expect(confirmedLines(cut, known.text)).toEqual(seen);
  });

  it('the read, if a compaction keeps only the edit', () => {
    const { records, known } = conversation(text, [read(1, 4), edit(0, 1, 'A')]);
    const uuids = records.slice(2).map((record) => ('uuid' in record ? record.uuid : undefined));
    const boundary = (kept: readonly unknown[]): object => ({
      parentUuid: null,
      type: 'system',
      subtype: 'compact_boundary',
      uuid: '99999999-0000-4000-8000-000000000000',
      compactMetadata: { preservedMessages: { uuids: kept } },
    });
    expect(confirmedLines([...records, boundary(uuids)], known.text)).toEqual([]);
    const everything = records.map((record) => ('uuid' in record ? record.uuid : undefined));
    expect(confirmedLines([...records, boundary(everything)], known.text)).toEqual(all);
  });
});
