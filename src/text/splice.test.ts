import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Edit } from '../model/intent.ts';
import { applyEdits, applyToBytes, type EditFailure, type EditsApplied } from './splice.ts';

function done(text: string, edits: readonly Edit[]): EditsApplied {
  const result = applyEdits(text, edits);
  if (!result.ok) throw new Error(result.kind);
  return result;
}

function failed(text: string, edits: readonly Edit[]): EditFailure {
  const result = applyEdits(text, edits);
  if (result.ok) throw new Error('applied');
  return result;
}

const edit = (oldString: string, newString: string, replaceAll = false): Edit => ({
  oldString,
  newString,
  replaceAll,
});

describe('applyEdits', () => {
  it.each([
    ['the one occurrence', 'a b c', [edit('b', 'x')], 'a x c'],
    ['all occurrences', 'x y x', [edit('x', 'z', true)], 'z y z'],
    ['as many as there must be', 'x y x', [{ ...edit('x', 'z', true), occurrences: 2 }], 'z y z'],
    ['in order, on the result so far', 'a', [edit('a', 'b'), edit('b', 'c')], 'c'],
    ['literally', 'PRICE', [edit('PRICE', "$& $$ $1 $` $'")], "$& $$ $1 $` $'"],
    ['literally everywhere', 'x x', [edit('x', '$&$1', true)], '$&$1 $&$1'],
    ['an empty text from nothing', '', [edit('', 'new\n')], 'new\n'],
    ['with nothing', 'a\nb\nc\n', [edit('b\n', '')], 'a\nc\n'],
  ])('replaces %s', (_what, text, edits, expected) => {
    expect(done(text, edits)).toMatchObject({ text: expected, tier: 'exact' });
  });

  it.each([
    ['the region’s CRLF', 'a\r\nb\r\nc\r\n', edit('a\nb', 'a\nB1\nB2'), 'a\r\nB1\r\nB2\r\nc\r\n'],
    ['CRLF where every word is another', 'a\r\nb\r\nc\r\n', edit('a\nb', 'x\ny'), 'x\r\ny\r\nc\r\n'],
    ['CRLF up to the next line', 'a\r\nb\r\nc\r\n', edit('a\nb\n', 'x\ny\n'), 'x\r\ny\r\nc\r\n'],
    ['CRLF after trailing space', 'a \r\nb\r\n', edit('a\nb', 'x\ny'), 'x\r\ny\r\n'],
    ['its line’s CRLF for one line', 'a\r\nb\r\n', edit('b', 'b1\nb2'), 'a\r\nb1\r\nb2\r\n'],
    ['the line before at the end', 'a\r\nb', edit('b', 'b1\nb2'), 'a\r\nb1\r\nb2'],
    ['its own where there is none', 'ab', edit('b', '1\r\n2\n'), 'a1\r\n2\n'],
    ['LF although it came as CRLF', 'a\nb\n', edit('b', '1\r\n2'), 'a\n1\n2\n'],
    ['that of its place, not of line 1', 'a\r\nb\nc\n', edit('b', 'x\ny'), 'a\r\nx\ny\nc\n'],
    [
      'each line’s own in a mixed region',
      'a\r\nb\nc\r\nd\n',
      edit('a\nb\nc\n', 'a\nX\nb\nc\n'),
      'a\r\nX\r\nb\nc\r\nd\n',
    ],
    [
      'the line before it, in a mixed region',
      'a\r\nb\nc\r\nd\n',
      edit('a\nb\nc\n', 'a\nb\nX\nc\n'),
      'a\r\nb\nX\nc\r\nd\n',
    ],
    ['no half of a CRLF', 'a\r\nb\r\n', edit('\nb', '\nx\nb'), 'a\r\nx\r\nb\r\n'],
    ['none when lines are joined', 'a\r\nb\r\n', edit('\nb', 'b'), 'ab\r\n'],
    ['each place’s own, everywhere', 'a\r\na\n', edit('a', '1\n2', true), '1\r\n2\r\n1\n2\n'],
    ['a lone CR as it is', 'a\nb', edit('b', 'x\ry'), 'a\nx\ry'],
  ])('gives new lines %s', (_what, text, one, expected) => {
    expect(done(text, [one]).text).toBe(expected);
  });

  it.each([
    ['its quotes', 'say “hi” and go', edit('say "hi" and go', 'say "hi" and stay'), 'say “hi” and stay'],
    [
      'its quotes between two changes',
      '“a” b “c” d “e”',
      edit('"a" b "c" d "e"', '"a" X "c" Y "e"'),
      '“a” X “c” Y “e”',
    ],
    ['its dashes and spaces', 'a –\u00a0b: one', edit('a - b: one', 'a - b: two'), 'a –\u00a0b: two'],
    ['its ellipsis', 'wait… then go', edit('wait... then go', 'wait... then stop'), 'wait… then stop'],
    ['its trailing space', 'one  \ntwo\n', edit('one\ntwo', 'one\n2'), 'one  \n2\n'],
    ['nothing where the caller changed the quotes', 'a “b” c', edit('a "b" c', "a 'b' c"), "a 'b' c"],
    ['no lone quote by accident', '“a” b', edit('"a" b', 'c " d'), 'c " d'],
    [
      'no quote of the file at another place of the new text',
      '“q” and ‘r’\nif (a) {\n',
      edit("\" and 'r'\nif (a) {", 'key: "v"\n" and \'r\'\nif (a) {'),
      '“qkey: "v"\n” and ‘r’\nif (a) {\n',
    ],
    ['curly quotes the caller wants', 'a ‘b’ c', edit("a 'b' c", 'a “b” c'), 'a “b” c'],
  ])('keeps %s where anchor and replacement are equal', (_what, text, one, expected) => {
    expect(done(text, [one]).text).toBe(expected);
  });

  it('reports the loosest tier it needed', () => {
    expect(done('a\r\nb\nc “d”', [edit('c', 'C')]).tier).toBe('exact');
    expect(done('a\r\nb\nc “d”', [edit('a\nb', 'x'), edit('c', 'C')]).tier).toBe('line-endings');
    expect(done('a\r\nb\nc “d”', [edit('"d"', 'D'), edit('c', 'C')]).tier).toBe('punctuation');
  });

  it.each([
    ['no-match', 'abc', [edit('abd', 'x')], { index: 0, count: 0 }],
    ['no-match', 'abc', [edit('a', 'x'), edit('abc', 'x')], { index: 1 }],
    [
      'ambiguous',
      'x\ny\nx\n',
      [edit('x', 'z')],
      {
        count: 2,
        places: [
          { line: 1, text: 'x' },
          { line: 3, text: 'x' },
        ],
      },
    ],
    ['ambiguous', 'aaa', [edit('aa', 'b')], { count: 2 }],
    ['ambiguous', 'x x x', [{ ...edit('x', 'z', true), occurrences: 2 }], { count: 3 }],
    [
      'ambiguous',
      'x',
      [{ ...edit('x', 'z', true), occurrences: 2 }],
      { count: 1, places: [{ line: 1, text: 'x' }] },
    ],
    ['empty-anchor', 'abc', [edit('', 'x')], {}],
    ['same', 'abc', [edit('a', 'a')], {}],
    ['too-large', 'a'.repeat(5000), [edit('a', 'b'.repeat(100_000), true)], {}],
  ])('returns %s for %j', (kind, text, edits, more) => {
    expect(failed(text, edits)).toMatchObject({ kind, ...more });
  });

  it('counts the whole rest of a long line in which an anchor was found', () => {
    const text = `${'a'.repeat(100)}x${'b'.repeat(999)}\r\nx\n`;
    expect(failed(text, [edit('x', 'z')]).places).toEqual([
      { line: 1, text: `…x${'b'.repeat(159)}… [+840 characters]` },
      { line: 2, text: 'x' },
    ]);
  });

  it('shows the text nearest to a missing anchor', () => {
    const text = 'function total(items) {\n\treturn items.length\n}\n';
    expect(failed(text, [edit('function totals(items) {\n  return items.size', 'x')]).nearest?.shown).toBe(
      '1: function total(items) {\n2: →return items.length',
    );
  });

  it('uses no tier looser than allowed', () => {
    expect(applyEdits('a\r\nb', [edit('a\nb', 'x')], { loosest: 'exact' })).toMatchObject({
      kind: 'no-match',
    });
  });

  it('changes nothing outside the spans it reports', () => {
    const word = fc.array(fc.constantFrom('a', 'b', '\n', '\r\n', ' ', '“', '"', '$&'), {
      minLength: 1,
      maxLength: 12,
    });
    const words = word.map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        words,
        words,
        fc.array(fc.tuple(words, words, fc.boolean()), { maxLength: 4 }),
        (a, b, more) => {
          const text = `${a}${b}${a}`;
          const edits = [edit(b, 'new', true), ...more.map(([old, put, all]) => edit(old, put, all))];
          const result = applyEdits(text, edits);
          if (!result.ok) return;
          let before = 0;
          let after = 0;
          for (const change of result.changes) {
            expect(result.text.slice(after, change.after.start)).toBe(
              text.slice(before, change.before.start),
            );
            before = change.before.end;
            after = change.after.end;
          }
          expect(result.text.slice(after)).toBe(text.slice(before));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('keeps CRLF in all lines of a file, whatever endings an edit has', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'a b', '“c”', '', 'd '), { minLength: 1, maxLength: 6 });
    const ending = fc.constantFrom('\n', '\r\n');
    fc.assert(
      fc.property(lines, lines, lines, ending, ending, (head, anchor, put, ofAnchor, ofPut) => {
        const text = [...head, ...anchor, 'end', ''].join('\r\n');
        const result = applyEdits(text, [edit(anchor.join(ofAnchor), put.join(ofPut))]);
        if (result.ok) expect(result.text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
      }),
      { numRuns: 500 },
    );
  });

  it('is before[:i] + new + before[j:] for one exact edit in one line', () => {
    const plain = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !/[\r\n]/.test(text));
    fc.assert(
      fc.property(plain, plain, plain, plain, (head, anchor, tail, put) => {
        const text = head + anchor + tail;
        const at = text.indexOf(anchor);
        fc.pre(anchor !== '' && anchor !== put && text.indexOf(anchor, at + 1) === -1);
        expect(done(text, [edit(anchor, put)]).text).toBe(
          text.slice(0, at) + put + text.slice(at + anchor.length),
        );
      }),
    );
  });
});

describe('spaces at a line end, where the quotes differ', () => {
  it.each([
    ['stay behind a changed word', '“a” b  \nc\n', '"a" b  \nc', '"a" x  \nc', '“a” x  \nc\n'],
    ['stay at the end of the old text', '“a” b  \nc\n', '"a" b  ', '"x" b  ', '“x” b  \nc\n'],
    ['are not doubled', '“a” b  \nc\n', '"a" b  ', '"a" x  ', '“a” x  \nc\n'],
    ['stay before CRLF', '“a” b  \r\nc\r\n', '"a" b  \nc', '"a" x  \nd', '“a” x  \r\nd\r\n'],
    ['are removed on demand', '“a” b  \nc\n', '"a" b  \nc', '"a" b\nc', '“a” b\nc\n'],
  ])('%s', (_what, text, oldString, newString, expected) => {
    expect(done(text, [edit(oldString, newString)])).toMatchObject({ text: expected, tier: 'punctuation' });
  });
});

describe('a space at the end of the old text, which the file lacks', () => {
  it.each([
    ['separates words that the edit adds', 'if a: return\nb\n', 'return ', 'return x', 'if a: return x\nb\n'],
    ['separates joined lines', 'a =\nb(c)\n', 'a = \nb', 'a = b', 'a = b(c)\n'],
    ['is not added to the end of a line', 'say a\nb\n', 'a ', 'x a ', 'say x a\nb\n'],
    ['is not added to a line that stays', 'a\nb c\n', 'a \nb', 'a \nx', 'a\nx c\n'],
    [
      'indents a new line',
      '“a”\n\nb\n',
      '"a"\n    \nb\n',
      '"a"\n    new\n    \nb\n',
      '“a”\n    new\n    \nb\n',
    ],
  ])('%s', (_what, text, oldString, newString, expected) => {
    expect(done(text, [edit(oldString, newString)]).text).toBe(expected);
  });
});

describe('whole lines', () => {
  it.each([
    ['one line', 'a\nb\nc\n', 'b', 'a\nc\n'],
    ['several lines', 'a\nb\nc\nd\n', 'b\nc', 'a\nd\n'],
    ['the first', 'a\nb\n', 'a', 'b\n'],
    ['with CRLF', 'a\r\nb\r\nc', 'b', 'a\r\nc'],
    ['the last, unended', 'a\nb', 'b', 'a\n'],
    ['all of the file', 'a\n', 'a', ''],
    ['but not a part of one', 'a\nbc\n', 'b', 'a\nc\n'],
    ['nor one with its indentation left', 'a\n  b\n', 'b', 'a\n  \n'],
  ])('are deleted with their ending: %s', (_what, text, oldString, expected) => {
    expect(applyEdits(text, [{ oldString, newString: '' }])).toMatchObject({ text: expected });
    const spliced = applyToBytes(Buffer.from(text), [{ oldString, newString: '' }], { encoding: 'utf-8' });
    expect(Buffer.from(spliced?.bytes ?? []).toString()).toBe(expected);
  });

  it('with replaceAll each occurrence is treated separately', () => {
    const edits = [{ oldString: 'b', newString: '', replaceAll: true }];
    expect(applyEdits('b\nab\nb\n', edits)).toMatchObject({ text: 'a\n' });
    const spliced = applyToBytes(Buffer.from('b\nab\nb\n'), edits, { encoding: 'utf-8' });
    expect(Buffer.from(spliced?.bytes ?? []).toString()).toBe('a\n');
  });

  it('exact matching deletes exactly the text', () => {
    const edits = [{ oldString: 'b', newString: '' }];
    expect(applyEdits('a\nb\nc\n', edits, { matching: 'exact' })).toMatchObject({ text: 'a\n\nc\n' });
  });
});

describe('a final newline that the end of the file lacks', () => {
  it.each([
    ['is ignored, and dropped from the new text', 'a\nb', 'b\n', 'c\n', 'a\nc'],
    ['is ignored in a deletion', 'a\nb', 'b\n', '', 'a\n'],
    ['of CRLF too', 'a\r\nb', 'a\nb\n', 'c\n', 'c'],
  ])('%s', (_what, text, oldString, newString, expected) => {
    expect(applyEdits(text, [{ oldString, newString }])).toMatchObject({ text: expected });
  });

  it('is not ignored elsewhere, or with exact matching', () => {
    expect(applyEdits('b c\na', [{ oldString: 'b\n', newString: 'x' }])).toMatchObject({ kind: 'no-match' });
    const options = { matching: 'exact' } as const;
    expect(applyEdits('a\nb', [{ oldString: 'b\n', newString: 'x' }], options)).toMatchObject({ ok: false });
  });
});
