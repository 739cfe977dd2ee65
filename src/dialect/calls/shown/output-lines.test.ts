import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffedLines, foundLines, linesShownIn, titlesIn } from './output-lines.ts';

const FILE = ['import x', '', 'function a() {', '  return 1', '}', '', 'function b() {', '  return 2', '}'];

describe('the lines of a file in an output', () => {
  it.each([
    ['all of it', FILE.join('\n'), [[1, 9]]],
    ['with a final newline', `${FILE.join('\n')}\n`, [[1, 9]]],
    ['with carriage returns', FILE.join('\r\n'), [[1, 9]]],
    ['the middle', FILE.slice(2, 5).join('\n'), [[3, 5]]],
    ['between other text', `$ cat\n${FILE.slice(2, 5).join('\n')}\ndone`, [[3, 5]]],
    [
      'two places',
      `${FILE.slice(2, 4).join('\n')}\n--\n${FILE.slice(6, 8).join('\n')}`,
      [
        [3, 4],
        [7, 8],
      ],
    ],
    ['one line of its own', 'x\n  return 2\ny', [[8, 8]]],
    ['a line that occurs twice', '}', []],
    ['such a line beside its neighbour', '  return 1\n}', [[4, 5]]],
    ['an empty line', '\n\n\n', []],
    ['numbers', '     3\tfunction a() {\n     4\t  return 1', [[3, 4]]],
    ['numbers of grep', '8:  return 2', [[8, 8]]],
    ['a number and a line that occurs twice', '9:}', []],
    ['two of them in a row', '8:  return 2\n9-}', [[8, 9]]],
    ['a wrong number', '7:  return 2', []],
    ['a changed line', 'function a() {\n  return 3\n}', [[3, 3]]],
    ['nothing', '', []],
  ])('%s', (_, output, expected) => {
    expect(linesShownIn(output, FILE).map(({ from, to }) => [from, to])).toEqual(expected);
  });

  it('a file of equal lines counts as shown if the output contains all of it', () => {
    const same = Array.from({ length: 5 }, () => 'x');
    expect(linesShownIn(same.join('\n'), same)).toEqual([{ from: 1, to: 5 }]);
    expect(linesShownIn('x\nx', same)).toEqual([]);
    expect(linesShownIn('', [])).toEqual([]);
    expect(linesShownIn('1\n', ['1'])).toEqual([{ from: 1, to: 1 }]);
  });

  const line = fc.constantFrom('a', 'b', 'c', '', '}', 'x = 1', 'y = 2');

  it('counts only lines that were printed', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.array(line, { maxLength: 30 }), (file, printed) => {
        for (const { from, to } of linesShownIn(printed.join('\n'), file))
          expect(contains(printed, file.slice(from - 1, to))).toBe(true);
      }),
    );
  });

  it('counts a whole run that contains a unique line, plain or numbered', () => {
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 30 }),
        fc.nat(),
        fc.nat(),
        fc.boolean(),
        (repeated, first, length, numbered) => {
          const file: string[] = [...repeated];
          const from = first % file.length;
          const to = Math.min(file.length, from + 1 + (length % 10));
          file[from] = 'a line of its own';
          const piece = file.slice(from, to);
          const shown = numbered ? piece.map((text, at) => `${from + at + 1}\t${text}`) : piece;
          const output = ['noise', ...shown, 'more noise'].join('\n');
          const ranges = linesShownIn(output, file);
          expect(ranges.some((range) => range.from <= from + 1 && range.to >= to)).toBe(true);
        },
      ),
    );
  });

  it('reads long outputs of long files', () => {
    const long = Array.from({ length: 100_000 }, (_, at) =>
      at % 3 === 0 ? '}' : at % 3 === 1 ? '' : `line ${at % 50_000}`,
    );
    expect(linesShownIn(long.join('\n'), long).length).toBeGreaterThan(0);
    const same = Array.from({ length: 100_000 }, () => 'x');
    expect(linesShownIn(same.join('\n'), same)).toHaveLength(1);
  });
});

/**
 * True if the lines can be cut into pieces that each occur in `printed`. A range of shown lines may
 * consist of several printed pieces, because adjacent ranges are merged.
 */
function contains(printed: readonly string[], lines: readonly string[]): boolean {
  let rest = lines;
  while (rest.length > 0) {
    let best = 0;
    for (let at = 0; at < printed.length; at += 1) {
      let length = 0;
      while (length < rest.length && printed[at + length] === rest[length]) length += 1;
      best = Math.max(best, length);
    }
    if (best === 0) return false;
    rest = rest.slice(best);
  }
  return true;
}

describe('the files that an output names', () => {
  it('finds the lines of a search with and without numbers', () => {
    const output = 'src/a.ts:3:function a() {\nsrc/a.ts-4-  return 1\n--\nb.ts:import x: y\nnothing';
    expect(Object.fromEntries(foundLines(output))).toEqual({
      'src/a.ts': '3:function a() {\n4:  return 1',
      'b.ts': 'import x: y',
    });
  });

  it('finds the new lines of a diff under their numbers', () => {
    const output = `diff --git a/a b.ts b/a b.ts
--- a/a b.ts\t
+++ b/a b.ts\t
@@ -7,3 +7,3 @@ function a() {
 seven
-eight
+EIGHT
 nine
@@ -20 +20,2 @@
+twenty
diff --git a/gone.ts b/gone.ts
--- a/gone.ts
+++ /dev/null
@@ -1 +0,0 @@
-gone
`;
    expect(Object.fromEntries(diffedLines(output))).toEqual({
      'a b.ts': '7:seven\n8:EIGHT\n9:nine\n20:twenty',
      '/dev/null': '',
    });
  });

  it('finds names in headings', () => {
    const output = '==> src/a.ts <==\nx\n== b c.ts\n--- d.ts ---\n# e.ts\nf.ts:\nplain g.ts';
    expect([...titlesIn(output)]).toEqual(['src/a.ts', 'b c.ts', 'd.ts', 'e.ts', 'f.ts']);
  });

  it('ends for very long outputs', () => {
    foundLines('a.ts:1:-----:-----\n'.repeat(200_000));
    diffedLines(`+++ b/a\n@@ -1 +1 @@\n${'+x\n'.repeat(200_000)}`);
    expect([...titlesIn('-'.repeat(299).concat('\n').repeat(10_000))]).toEqual(['-']);
  });
});
