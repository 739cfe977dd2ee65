import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLines } from './lines.ts';
import { maskedDiff, unifiedDiff } from './unified.ts';

const ten = Array.from({ length: 10 }, (_, index) => `l${index + 1}\n`);
const text = (rows: readonly string[]): string => rows.join('');

/** Applies a diff like the `patch` program. */
function patch(before: string, diff: string): string {
  const rows = splitLines(before);
  const out: string[] = [];
  let at = 0;
  const diffRows = diff === '' ? [] : diff.split('\n');
  for (const [index, row] of diffRows.entries()) {
    const header = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/.exec(row);
    const ending = diffRows[index + 1]?.startsWith('\\') ? '' : '\n';
    if (header !== null) {
      const start = Number(header[1]) - (header[2] === '0' ? 0 : 1);
      while (at < start) out.push(rows[at++]!);
      expect(out.length).toBe(Number(header[3]) - (header[4] === '0' ? 0 : 1));
    } else if (row[0] === '+') out.push(row.slice(1) + ending);
    else if (row[0] !== '\\') {
      expect(rows[at]).toBe(row.slice(1) + ending);
      if (row[0] === ' ') out.push(rows[at]!);
      at += 1;
    }
  }
  return out.concat(rows.slice(at)).join('');
}

describe('unifiedDiff', () => {
  it('shows changes with three lines of context', () => {
    const shown = unifiedDiff(text(ten), text(ten.with(4, 'X\n')), { maxLines: 100 });
    expect(shown.text).toBe('@@ -2,7 +2,7 @@\n l2\n l3\n l4\n-l5\n+X\n l6\n l7\n l8');
    expect(shown.shownAfter).toEqual([{ from: 2, to: 8 }]);
    expect(shown.truncated).toBe(false);
  });

  it('is empty if nothing changed', () => {
    expect(unifiedDiff('a', 'a', { maxLines: 9 })).toMatchObject({
      text: '',
      shownAfter: [],
      truncated: false,
    });
  });

  it.each([
    ['a new file', '', 'a\nb\n', '@@ -0,0 +1,2 @@\n+a\n+b'],
    ['an emptied file', 'a\n', '', '@@ -1 +0,0 @@\n-a'],
    ['a newline at the end', 'a', 'a\n', '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a'],
    ['CRLF without its CR', 'a\r\nb\r\n', 'a\r\nX\r\n', '@@ -1,2 +1,2 @@\n a\n-b\n+X'],
    ['a changed ending with its CR', 'a\nb\n', 'a\r\nb\n', '@@ -1,2 +1,2 @@\n-a\n+a␍\n b'],
    ['lines as they are in UTF-8', 'é\n', 'ü\n', '@@ -1 +1 @@\n-é\n+ü'],
  ])('shows %s', (_what, before, after, expected) => {
    expect(unifiedDiff(before, after, { maxLines: 100 }).text).toBe(expected);
    const bytes = unifiedDiff(Buffer.from(before), Buffer.from(after), { maxLines: 100 });
    expect(bytes.text).toBe(expected);
  });

  it('groups near changes and separates distant ones', () => {
    const near = unifiedDiff(text(ten), text(ten.with(0, 'X\n').with(7, 'Y\n')), { maxLines: 100 });
    expect(near.text.match(/^@@/gm)).toHaveLength(1);
    const far = unifiedDiff(text(ten), text(ten.with(0, 'X\n').with(8, 'Y\n')), { maxLines: 100 });
    expect(far.text.match(/^@@/gm)).toHaveLength(2);
    expect(far.shownAfter).toEqual([
      { from: 1, to: 4 },
      { from: 6, to: 10 },
    ]);
  });

  it('is bounded, says how much is missing, and counts only what it showed', () => {
    const shown = unifiedDiff('', text(ten), { maxLines: 4 });
    expect(shown.text).toBe('@@ -0,0 +1,10 @@\n+l1\n+l2\n+l3\n… 7 more lines of this diff not shown');
    expect(shown).toMatchObject({ truncated: true, shownAfter: [{ from: 1, to: 3 }] });
  });

  it('cuts long lines, and does not count them as shown', () => {
    const shown = unifiedDiff('a\n', `a\n${'x'.repeat(20)}\nb\n`, { maxLines: 9, maxLineChars: 5 });
    expect(shown.text).toContain('+xxxxx… [+15 characters]');
    expect(shown.shownAfter).toEqual([
      { from: 1, to: 1 },
      { from: 3, to: 3 },
    ]);
  });

  it('does not count lines as shown that are not UTF-8', () => {
    const shown = unifiedDiff(Buffer.from('a\n'), Buffer.from([0xff, 0x0a, 0x61, 0x0a]), { maxLines: 9 });
    expect(shown.shownAfter).toEqual([{ from: 2, to: 2 }]);
    const honest = unifiedDiff(Buffer.from('a\n'), Buffer.from('\ufffd\na\n'), { maxLines: 9 });
    expect(honest.shownAfter).toEqual([{ from: 1, to: 2 }]);
  });

  it('contains the lines that it reports as shown', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 30 });
    const final = fc.constantFrom('', '\n');
    const join = (rows: readonly string[], end: string) => (rows.length === 0 ? '' : rows.join('\n') + end);
    fc.assert(
      fc.property(lines, lines, fc.nat(4), fc.tuple(final, final), (a, b, context, [endA, endB]) => {
        const before = join(a, endA);
        const after = join(b, endB);
        const shown = unifiedDiff(before, after, { maxLines: 1000, context });
        expect(patch(before, shown.text)).toBe(after);
        const visible = shown.text
          .split('\n')
          .filter((row) => /^[ +]/.test(row))
          .map((row) => row.slice(1));
        const rows = splitLines(after).map((row) => row.replace('\n', ''));
        expect(shown.shownAfter.flatMap((range) => rows.slice(range.from - 1, range.to))).toEqual(visible);
        const bytes = unifiedDiff(Buffer.from(before), Buffer.from(after), { maxLines: 1000, context });
        expect(bytes).toEqual(shown);
      }),
      { numRuns: 300 },
    );
  });
});

describe('maskedDiff', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const options = { maxLines: 9, secrets: 'mask', path: 'a.txt' } as const;

  it('does not count lines as shown that are masked or not UTF-8', () => {
    const before = Buffer.from('a\n');
    const after = Buffer.concat([
      Buffer.from(`a\n${token}\n`),
      Buffer.from([0xff, 0x0a]),
      Buffer.from('b\n'),
    ]);
    const shown = maskedDiff<Uint8Array>(before, after, options);
    expect(shown.text).toContain('+[masked]');
    expect(shown.shownAfter).toEqual([
      { from: 1, to: 1 },
      { from: 4, to: 4 },
    ]);
  });

  it('decodes UTF-16 files, and masks secrets in them', () => {
    const encoded = (text: string): Uint8Array => Buffer.from(`\ufeff${text}`, 'utf16le');
    const shown = maskedDiff<Uint8Array>(encoded('é\nb\n'), encoded(`é\nc\n${token}\n`), options);
    expect(shown.text).toBe('@@ -1,2 +1,3 @@\n é\n-b\n+c\n+[masked]');
    expect(shown.shownAfter).toEqual([{ from: 1, to: 2 }]);
  });

  it('counts lines in UTF-8 as shown, also those with a replacement character', () => {
    const after = Buffer.from(`a\n${token}\n\ufffd\né\n`);
    const shown = maskedDiff<Uint8Array>(Buffer.from('a\n'), after, options);
    expect(shown.shownAfter).toEqual([
      { from: 1, to: 1 },
      { from: 3, to: 4 },
    ]);
  });
});
