import fc from 'fast-check';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
// Registers the loader of the packages for older encodings.
import '../disk/read.ts';
import { applyEdits, applyToBytes } from './splice.ts';

const utf8 = { encoding: 'utf-8' } as const;
const unknown = { encoding: 'other' } as const;

describe('applyToBytes', () => {
  it('gives the same result as editing the text, or undefined', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', '\n', '\r\n', ' ', 'é', '🙂', 'ab'), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(''));
    const edits = fc.array(fc.record({ oldString: word, newString: word, replaceAll: fc.boolean() }), {
      minLength: 1,
      maxLength: 3,
    });
    let answered = 0;
    fc.assert(
      fc.property(fc.array(word), edits, (parts, some) => {
        const text = [...parts, ...some.map((edit) => edit.oldString)].join('');
        const spliced = applyToBytes(Buffer.from(text), some, utf8);
        if (spliced === undefined) return;
        answered += 1;
        const applied = applyEdits(text, some);
        expect(applied).toMatchObject({ ok: true, tier: 'exact', replaced: spliced.replaced });
        expect(Buffer.from(spliced.bytes).toString()).toBe(applied.ok && applied.text);
        const ascii = applyToBytes(Buffer.from(text), some, unknown);
        if (ascii !== undefined) expect(ascii).toEqual(spliced);
      }),
      { numRuns: 1000 },
    );
    expect(answered).toBeGreaterThan(100);
  });

  it('leaves an edit of mixed line endings to the decoded text', () => {
    const edits = [{ oldString: '\na\n', newString: 'a🙂\na' }];
    expect(applyToBytes(Buffer.from('\r\na\na'), edits, utf8)).toBeUndefined();
  });

  it.each([
    ['lines', 'x\n\n# A\n# A\nrest\n', '\n# A', 'x\n\nrest\n', { start: 2, end: 10 }],
    ['lone returns', 'x\n\r\r\ny\n', '\r', 'x\n\ny\n', { start: 2, end: 4 }],
  ])('deletes adjacent %s and reports one change', (_what, text, oldString, expected, before) => {
    const edits = [{ oldString, newString: '', replaceAll: true }];
    const spliced = applyToBytes(Buffer.from(text), edits, utf8);
    const applied = applyEdits(text, edits);
    expect(Buffer.from(spliced!.bytes).toString()).toBe(expected);
    expect(applied).toMatchObject({ ok: true, text: expected });
    const changes = [{ before, after: { start: 2, end: 2 } }];
    expect(spliced!.changes).toEqual(changes);
    expect(applied).toMatchObject({ changes });
  });

  it('deletes the first line after a byte order mark with its ending', () => {
    const spliced = applyToBytes(Buffer.from('\ufeffa\r\nb\r\n'), [{ oldString: 'a', newString: '' }], utf8);
    expect(Buffer.from(spliced!.bytes).toString()).toBe('\ufeffb\r\n');
    const other = applyToBytes(Buffer.from('xyza\nb\n'), [{ oldString: 'a', newString: '' }], utf8);
    expect(Buffer.from(other!.bytes).toString()).toBe('xyz\nb\n');
  });

  it('keeps every other byte of a file in an unknown encoding', () => {
    const bytes = Buffer.from([0xff, 0x41, 0x20, 0x42, 0x43, 0x0a, 0xc3]);
    const spliced = applyToBytes(bytes, [{ oldString: 'BC', newString: 'X' }], unknown);
    expect(Buffer.from(spliced!.bytes)).toEqual(Buffer.from([0xff, 0x41, 0x20, 0x58, 0x0a, 0xc3]));
    expect(spliced!.changes).toEqual([{ before: { start: 3, end: 5 }, after: { start: 3, end: 4 } }]);
  });

  it('never matches the second half of a character', () => {
    // The second byte of ソ in Shift_JIS equals a backslash, and the edit searches for a backslash.
    const bytes = iconv.encode('ソ', 'shift_jis');
    expect(applyToBytes(bytes, [{ oldString: '\\', newString: '/' }], unknown)).toBeUndefined();
  });

  it.each([
    ['UTF-16 with a mark', Buffer.from('\ufeffab', 'utf16le'), 'a', 'b', utf8],
    ['UTF-16 without one', Buffer.from('ab', 'utf16le'), 'a', 'b', utf8],
    ['an anchor found twice', Buffer.from('a a'), 'a', 'b', utf8],
    ['an anchor overlapping itself', Buffer.from('aaa'), 'aa', 'b', utf8],
    ['no match', Buffer.from('abc'), 'x', 'b', utf8],
    ['an empty anchor', Buffer.from(''), '', 'b', utf8],
    ['nothing to do', Buffer.from('abc'), 'a', 'a', utf8],
    ['mixed endings', Buffer.from('a\r\nb\nc'), 'a\r\nb\nc', 'x\n', utf8],
    ['a lone surrogate', Buffer.from('abc'), 'a', '\ud800', utf8],
    ['characters in an unknown encoding', Buffer.from('abc'), 'a', 'é', unknown],
    ['a mark in the anchor', Buffer.from('\ufeffa'), '\ufeffa', 'b', utf8],
  ])('returns undefined for %s', (_what, bytes, oldString, newString, options) => {
    expect(applyToBytes(bytes, [{ oldString, newString }], options)).toBeUndefined();
  });

  it('gives up on contrived bytes', () => {
    const bytes = Buffer.alloc(1_000_000, 'a');
    const oldString = `${'a'.repeat(5000)}b${'a'.repeat(5000)}`;
    expect(applyToBytes(bytes, [{ oldString, newString: 'x' }], unknown)).toBeUndefined();
  });

  it('finds a long anchor after others with the same beginning', () => {
    const long = 'x'.repeat(100);
    const bytes = Buffer.from(`${long}a ${long}b`);
    const spliced = applyToBytes(bytes, [{ oldString: `${long}b`, newString: 'y' }], unknown);
    expect(Buffer.from(spliced!.bytes).toString()).toBe(`${long}a y`);
  });
});
