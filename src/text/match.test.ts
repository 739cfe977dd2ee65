import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold, foldedOffset, sourceSpan } from './fold.ts';
import { findAnchor, indexOfLinear } from './match.ts';

/** The tier (level of tolerance) at which an anchor is found, and the matched texts. */
function find(text: string, anchor: string, options = {}): readonly [string, ...string[]] | undefined {
  const found = findAnchor(text, anchor, options);
  return found && [found.tier, ...found.spans.map((span) => text.slice(span.start, span.end))];
}

describe('findAnchor', () => {
  it.each([
    ['as it is', 'one two three', 'two', ['exact', 'two']],
    ['everywhere it is', 'x y x', 'x', ['exact', 'x', 'x']],
    ['overlapping itself', 'aaa', 'aa', ['exact', 'aa', 'aa']],
    ['LF for CRLF', 'a\r\nb\r\nc', 'a\nb', ['line-endings', 'a\r\nb']],
    ['CRLF for LF', 'a\nb\nc', 'a\r\nb', ['line-endings', 'a\nb']],
    ['in a mixed file', 'a\r\nb\nc\r\n', 'a\nb\nc\n', ['line-endings', 'a\r\nb\nc\r\n']],
    ['a newline first, whole', 'a\r\nb', '\nb', ['exact', '\r\nb']],
    ['blank lines of a CRLF file', 'a\r\n\r\nb', '\n\n', ['line-endings', '\r\n\r\n']],
    ['trailing space in the file', 'a  \nb\t\nc', 'a\nb', ['trailing-space', 'a  \nb']],
    ['trailing space in the anchor', 'a\nb\nc', 'a \nb', ['trailing-space', 'a\nb']],
    ['trailing space at the anchor’s end', 'foo\nfoobar\n', 'x\nfoo  ', undefined],
    ['space at the anchor’s end, at a line’s end only', 'foobar foo\n', 'foo  ', ['trailing-space', 'foo']],
    ['white lines for empty ones', 'a\n   \nb', 'a\n\nb', ['trailing-space', 'a\n   \nb']],
    ['trailing space and CRLF together', 'a \r\nb', 'a\nb', ['trailing-space', 'a \r\nb']],
    ['straight quotes for curly ones', 'say “hi” it’s', 'say "hi" it\'s', ['punctuation', 'say “hi” it’s']],
    ['curly quotes for straight ones', 'say "hi"', 'say “hi”', ['punctuation', 'say "hi"']],
    ['dashes', 'a – b — c', 'a - b - c', ['punctuation', 'a – b — c']],
    ['no-break spaces', 'a\u00a0b', 'a b', ['punctuation', 'a\u00a0b']],
    ['an ellipsis', 'wait… now', 'wait... now', ['punctuation', 'wait… now']],
    ['dots for an ellipsis', 'wait... now', 'wait… now', ['punctuation', 'wait... now']],
    ['no half of an ellipsis', 'wait…', 'wait..', undefined],
    ['quotes, trailing space and CRLF', '“a” \r\nb', '"a"\nb', ['punctuation', '“a” \r\nb']],
    ['nothing that is not there', 'abc', 'abd', undefined],
    ['no other indentation', '\tfoo', '  foo', undefined],
    ['white space nowhere else', 'a\nb', '   ', undefined],
    ['an empty anchor nowhere', 'abc', '', undefined],
  ])('finds %s', (_what, text, anchor, expected) => {
    expect(find(text, anchor)).toEqual(expected);
  });

  it('stops at the strictest tier with a match, and does not count looser matches elsewhere', () => {
    expect(find('a\nb\na\r\nb\n', 'a\nb')).toEqual(['exact', 'a\nb']);
  });

  it.each([
    ['exact', 'a\r\nb', 'a\nb', undefined],
    ['line-endings', 'a\r\nb', 'a\nb', ['line-endings', 'a\r\nb']],
    ['line-endings', 'a \nb', 'a\nb', undefined],
    ['trailing-space', '“a”', '"a"', undefined],
  ] as const)('tries no tier looser than %s', (loosest, text, anchor, expected) => {
    expect(find(text, anchor, { loosest })).toEqual(expected);
  });

  it('finds all non-overlapping occurrences with the option all', () => {
    expect(find('aaaaa', 'aa', { all: true })).toEqual(['exact', 'aa', 'aa']);
    expect(find('\n\r\n\r', '\n\r', { all: true })).toEqual(['exact', '\n\r', '\n\r']);
  });

  it('counts more than it lists', () => {
    const found = findAnchor('x\n'.repeat(50), 'x');
    expect(found?.count).toBe(50);
    expect(found?.spans).toHaveLength(11);
  });

  it('is fast on contrived texts, on which the native search takes minutes', () => {
    const text = 'a'.repeat(2_000_000);
    const anchor = `${'a'.repeat(20_000)}b${'a'.repeat(20_000)}`;
    expect(findAnchor(text, anchor)).toBeUndefined();
    expect(findAnchor(`${text}${anchor}`, anchor)?.count).toBe(1);
    expect(findAnchor(text, `${'a'.repeat(1000)} `)?.count).toBe(1);
    expect(findAnchor('…'.repeat(300_000), '.'.repeat(1001))).toBeUndefined();
    expect(findAnchor(`${' '.repeat(2_000_000)}x`, 'y\n ')).toBeUndefined();
  });
});

describe('indexOfLinear', () => {
  it('equals indexOf', () => {
    const word = fc.array(fc.constantFrom('a', 'b'), { maxLength: 300 }).map((letters) => letters.join(''));
    const long = fc.nat(3).map((which) => 'ab'.repeat(40) + 'aab'.repeat(which));
    fc.assert(
      fc.property(word, fc.oneof(word, long), fc.nat(20), (text, pattern, from) => {
        const hay = text + pattern.slice(1) + text;
        expect(indexOfLinear(hay, pattern, from)).toBe(hay.indexOf(pattern, from));
      }),
    );
  });

  it('equals indexOf also in its slow path', () => {
    const pattern = `${'a'.repeat(30_000)}b`;
    const text = `${'a'.repeat(31_000)}c${pattern}`;
    expect(indexOfLinear(text, pattern)).toBe(text.length - pattern.length);
    expect(indexOfLinear(text.slice(0, -1), pattern)).toBe(-1);
  });
});

describe('fold', () => {
  const parts = fc.constantFrom('a', 'b', ' ', '  ', '\t', '\n', '\r\n', '…', '“', '’', '.', '\u00a0');
  const text = fc.array(parts, { maxLength: 40 }).map((all) => all.join(''));

  it('maps every folded character back to its source', () => {
    fc.assert(
      fc.property(text, fc.constantFrom('line-endings', 'trailing-space', 'punctuation'), (given, tier) => {
        const folded = fold(given, tier);
        for (let at = 0; at < folded.text.length; at += 1) {
          const span = sourceSpan(folded, at, at + 1);
          if (span === undefined) {
            expect(folded.text[at]).toBe('.');
            continue;
          }
          expect(span.end).toBe(span.start + 1);
          expect(fold(`${given.slice(span.start, span.end)}|`, tier).text).toBe(`${folded.text[at]}|`);
          expect(foldedOffset(folded, span.start)).toBe(at);
        }
        expect(foldedOffset(folded, given.length)).toBe(folded.text.length);
      }),
    );
  });

  it('does not change a text that is already folded', () => {
    fc.assert(
      fc.property(text, (given) => {
        const once = fold(given, 'punctuation').text;
        expect(fold(once, 'punctuation').text).toBe(once);
      }),
    );
  });
});
