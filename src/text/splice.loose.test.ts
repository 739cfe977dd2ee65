import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { asTyped } from './fold.ts';
import { applyEdits } from './splice.ts';

/** Applies one edit. Returns the resulting text and the level of tolerance (tier), or the kind of failure. */
function edited(text: string, oldString: string, newString: string): readonly [string, string?] {
  const applied = applyEdits(text, [{ oldString, newString }]);
  return applied.ok ? [applied.text, applied.tier] : [applied.kind];
}

describe('an old text that begins with a line of only white space', () => {
  const file = "def f():\n    \n    first('a')\n    second('b')\n    return 1\n";
  const old = "    \n    first('a')\n    second(’b’)\n";

  it.each([
    ['keeps the lines that old and new text share', old.replace('b', 'c'), file.replace("'b'", "'c'")],
    ['inserts a line at the top', `    top()\n${old}`, file.replace('    \n', '    top()\n    \n')],
    ['drops that line', old.replace('    \n', ''), file.replace('    \n', '')],
    ['deletes all', '', 'def f():\n    return 1\n'],
  ])('%s', (_what, put, expected) => {
    expect(edited(file, old, put)).toEqual([expected, 'punctuation']);
    const crlf = expected.replaceAll('\n', '\r\n');
    expect(edited(file.replaceAll('\n', '\r\n'), old, put)).toEqual([crlf, 'punctuation']);
  });

  it('may differ from the file in that white space', () => {
    expect(edited('a\n \nb\nc\n', '  \nb\nc\n', 'x\n  \nb\nC\n')).toEqual([
      'a\nx\n \nb\nC\n',
      'trailing-space',
    ]);
    expect(edited('a \nb\nc\n', '  \nb\nc', '  \nb\nC')).toEqual(['a \nb\nC\n', 'trailing-space']);
  });
});

describe('a loose edit', () => {
  /** A text without the differences that these levels of tolerance ignore. */
  const plain = (text: string): string => asTyped(text).replace(/[^\S\n]+$/gm, '');

  it('writes the new text, and loses no line that old and new text share', () => {
    const indent = fc.constantFrom('', '  ', '    ');
    const content = fc.constantFrom('', '', "f('a')", 'g("b")', 'a - b', 'return');
    const line = fc.tuple(indent, content, fc.constantFrom('', '', ' ')).map((parts) => parts.join(''));
    const lines = fc.array(line, { minLength: 1, maxLength: 5 });
    const changed = fc.array(fc.constantFrom('same', 'same', 'other', 'insert', 'drop'), {
      minLength: 5,
      maxLength: 5,
    });
    let loose = 0;
    fc.assert(
      fc.property(lines, lines, changed, fc.constantFrom('\n', ''), (above, old, changes, end) => {
        const file = `${above.join('\n')}\n${old.join('\n')}\n-- end\n`;
        const oldString = old.map(mistyped).join('\n') + end;
        const newString = old.flatMap((each, at) => rewritten(mistyped(each), changes[at])).join('\n') + end;
        const [result, tier] = edited(file, oldString, newString);
        if (tier !== 'trailing-space' && tier !== 'punctuation') return;
        fc.pre(newString.trim() !== '');
        loose += 1;
        const expected = `${above.join('\n')}\n${newString}${end === '' ? '\n' : ''}-- end\n`;
        expect(plain(result)).toBe(plain(expected));
      }),
      { numRuns: 500 },
    );
    expect(loose).toBeGreaterThan(50);
  });
});

/** The line with curly quotes and other white space at its end. A line of white space stays one. */
function mistyped(line: string): string {
  if (line.trim() === '') return line === '' ? '' : `${line}  `;
  return line.replaceAll("'", '’').replaceAll('"', '“').trimEnd();
}

function rewritten(line: string, change: string | undefined): string[] {
  if (change === 'drop') return [];
  if (change === 'other') return ['  other()'];
  return change === 'insert' ? ['    new()', line] : [line];
}
