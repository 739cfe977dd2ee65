import { describe, expect, it } from 'vitest';
import type { Edit } from '../../model/intent.ts';
import { applyEdits } from '../splice.ts';

/**
 * Applies an edit. Returns the resulting text and the level of tolerance (tier) of the match, or
 * the kind of failure.
 */
function edited(text: string, oldString: string, newString: string): [string, string] {
  const applied = applyEdits(text, [{ oldString, newString }]);
  return applied.ok ? [applied.text, applied.tier] : ['', applied.kind];
}

describe('each mistake is ignored by its own tier', () => {
  it.each<[string, string, string, string, [string, string]]>([
    [
      'a shift',
      'a\n    b {\n      c\n    }\n',
      'b {\n  c\n}',
      'b {\n  d\n}',
      ['a\n    b {\n      d\n    }\n', 'indentation'],
    ],
    ['tabs', 'x\n\tb\n\t\tc\n', '  b\n    c', '  b\n    d', ['x\n\tb\n\t\td\n', 'indentation']],
    ['CRLF', 'x\r\n  b\r\n  c\r\n', '    b\n    c', '    b\n    d', ['x\r\n  b\r\n  d\r\n', 'indentation']],
    ['numbers', 'a\nb\nc\n', '2\tb\n3\tc', '2\tb\n3\td', ['a\nb\nd\n', 'line-numbers']],
    ['numbers of the old text only', 'a\nb\nc\n', '     2→b', 'x\n3:y', ['a\nx\n3:y\nc\n', 'line-numbers']],
    ['a blank line missing', 'a\n\nb\nc\n', 'a\nb\nc', 'a\nb\nd', ['a\n\nb\nd\n', 'blank-lines']],
    ['a blank line added', 'a1\nb1\nc1\n', 'a1\n\nb1\nc1', 'a1\n\nb1\nd1', ['a1\nb1\nd1\n', 'blank-lines']],
    ['blank lines around', 'a1\nb1\nc1\n', '\nb1\n\n', '\nb2\n\n', ['a1\nb2\nc1\n', 'blank-lines']],
    [
      'spaces inside',
      'x\nlet a   = 1;\n',
      'let a = 1;',
      'let a = 2;',
      ['x\nlet a   = 2;\n', 'inner-spacing'],
    ],
    ['escaped quotes', 'say("hi");\n', 'say(\\"hi\\");', 'say(\\"ho\\");', ['say("ho");\n', 'escapes']],
    ['entities', 'a < b && c\n', 'a &lt; b &amp;&amp; c', 'a &gt; b', ['a > b\n', 'escapes']],
    [
      'escaped quotes, beside an escape that the old text has too',
      'log("a\\n");\n',
      'log(\\"a\\n\\");',
      'log(\\"b\\n\\");',
      ['log("b\\n");\n', 'escapes'],
    ],
    [
      'escaped quotes, beside an escape that line breaks prove to be meant',
      'log("a");\nend\n',
      'log(\\"a\\");\nend',
      'log(\\"b\\n\\");\nend',
      ['log("b\\n");\nend\n', 'escapes'],
    ],
    [
      'spaces in the empty line at the end',
      'a1\nb1\n\nc1\n',
      'a1\nb1\n  ',
      'a1\nb2\n',
      ['a1\nb2\n\nc1\n', 'trailing-space'],
    ],
    [
      'spaces in an empty line, and behind a new one',
      'a1\n\nb1\n',
      'a1\n  \nb1',
      'a1\n\nb2  ',
      ['a1\n\nb2\n', 'trailing-space'],
    ],
    [
      'a blank line added at the end of the file',
      'a1\nb1',
      'b1\n\n',
      'b1\nc1\n',
      ['a1\nb1\nc1', 'blank-lines'],
    ],
    [
      'a blank line missing, beside a space that the edit removes',
      'a1 \n\nb1\n',
      'a1 \nb1',
      'a1\nb2',
      ['a1\n\nb2\n', 'blank-lines'],
    ],
    [
      'doubled spaces, beside columns and a comment',
      'let a = 1;\n',
      'let  a = 1;',
      'let  a = 1;  // one\nlet  bb   = 2;',
      ['let a = 1;  // one\nlet bb   = 2;\n', 'inner-spacing'],
    ],
    [
      'spaces at the ends of lines without words',
      '  {\n  }\n});\n',
      '  }  \n});  ',
      '  }  \n  {  \n  \n});  ',
      ['  {\n  }\n  {\n\n});\n', 'trailing-space'],
    ],
    ['escaped newlines', 'a\nb\nc\n', 'a\\nb', 'a\\nd', ['a\nd\nc\n', 'escapes']],
  ])('%s', (_what, text, oldString, newString, expected) => {
    expect(edited(text, oldString, newString)).toEqual(expected);
  });
});

describe('whole lines are deleted with their ending', () => {
  it.each<[string, string, string, string]>([
    ['line-numbers', 'a\nb\nc\n', '2\tb', 'a\nc\n'],
    ['line-numbers', 'a\r\nb\r\nc\r\n', '1→a\n2→b', 'c\r\n'],
    ['escapes', 'a\nsay("hi");\nc\n', 'say(\\"hi\\");', 'a\nc\n'],
    ['escapes', 'a\n  say("hi");\nc\n', 'say(\\"hi\\");', 'a\n  \nc\n'],
    ['indentation', 'a\n  b1\nc\n', 'b1\n', 'a\nc\n'],
  ])('%s', (tier, text, oldString, expected) => {
    const isIndented = tier === 'indentation';
    expect(edited(text, isIndented ? `    ${oldString}` : oldString, '')).toEqual([expected, tier]);
  });
});

describe('a final newline that the edit adds is written, as for an exact match', () => {
  it.each<[string, string, string, string, string]>([
    ['exact', '\tb1', '\tb1', '\tb2\n', '\tb2\n'],
    ['punctuation', '\tb1 “c”', '\tb1 "c"', '\tb2\n', '\tb2\n'],
    ['trailing-space', '\ta1  \n\tb1', '\ta1\n\tb1', '\ta1\n\tb2\n', '\ta1  \n\tb2\n'],
    ['indentation', '\tb1', '  b1', '  b2\n', '\tb2\n'],
    ['blank-lines', 'a1\n\nb1', 'a1\nb1', 'a1\nb2\n', 'a1\n\nb2\n'],
    ['inner-spacing', 'b1  = 1', 'b1 = 1', 'b1 = 2\n', 'b1  = 2\n'],
    ['escapes', 'say("b1")', 'say(\\"b1\\")', 'say(\\"b2\\")\n', 'say("b2")\n'],
    ['line-numbers', 'b1', '2\tb1', '2\tb2\n', 'b2\n'],
  ])('%s', (tier, there, oldString, newString, expected) => {
    expect(edited(`x\n${there}`, oldString, newString)).toEqual([`x\n${expected}`, tier]);
    expect(edited(`x\n${there}\ny\n`, oldString, newString)).toEqual([`x\n${expected}\ny\n`, tier]);
    const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
    expect(edited(crlf(`x\n${there}`), oldString, newString)[0]).toBe(crlf(`x\n${expected}`));
  });
});

describe('each line keeps its own ending', () => {
  it.each<[string, string, string, string, string]>([
    ['indentation', '  a1\r\n  b1\n  c1\r\n', 'a1\nb1\nc1', 'a1\nb1\nd1', '  a1\r\n  b1\n  d1\r\n'],
    ['trailing-space', 'a1\r\nb1 \nc1\r\n', 'a1  \nb1\nc1', 'a1  \nb1\nd1', 'a1\r\nb1 \nd1\r\n'],
    ['blank-lines', 'a1\r\n\nb1\r\nc1\n', 'a1\nb1\nc1', 'a1\nb1\nd1', 'a1\r\n\nb1\r\nd1\n'],
    ['inner-spacing', 'a1\r\nb1  = 1\nc1\n', 'a1\nb1 = 1\n', 'a1\nb1 = 2\n', 'a1\r\nb1  = 2\nc1\n'],
    ['a replaced line', '  a1\r\n  b1\nc1\n', 'a1\nb1', 'a2\nb2', '  a2\r\n  b2\nc1\n'],
    ['a new line', 'c1\n  a1\r\n', '    a1', '    a1\n    a2', 'c1\n  a1\r\n  a2\r\n'],
  ])('%s', (_what, text, oldString, newString, expected) => {
    expect(edited(text, oldString, newString)[0]).toBe(expected);
  });
});

describe('an edit is refused', () => {
  it.each<[string, string, string, string, string]>([
    ['in two places', '  b {\n  }\n    b {\n    }\n', 'b {\n}', 'x', 'ambiguous'],
    ['at two shifts', 'if\n  a1\n     b1\n', 'a1\nb1', 'x', 'no-match'],
    ['if the new text cannot be shifted', '  aa\n  bb\n', '    aa\n    bb', ' cc', 'no-match'],
    ['at numbers that are not true', 'a\nb\n', '7\tb', '7\tc', 'no-match'],
    ['at numbers that would choose', 'b\na\nb\n', '3\tb', '3\tc', 'ambiguous'],
    ['with two blank lines', 'a1\n\n\nb1\n', 'a1\nb1', 'x', 'no-match'],
    ['where a blank line may belong to either side', 'a1\n\nb1\n', 'a1\nb1', 'a1\nnew\nb1', 'no-match'],
    ['at a blank line that only the edit has', 'a1\nb1\n', 'a1\n\n', 'a1\nnew\n\n', 'no-match'],
    ['between lines that only the edit parts', 'a1\nb1\n', 'a1\n\nb1', 'a1\n\nnew\nb1', 'no-match'],
    ['where a blank line may be the missed one', 'a1\n\nb1\n', 'a1\nb1', 'a1\n\nb2', 'no-match'],
    ['that may remove the only blank line', 'a1\n\nb1\n', 'a1\n\n\nb1', 'a2\n\nb1', 'no-match'],
    ['with other spaces in a string', 'say("a  b");\n', 'say("a b");', 'x', 'no-match'],
    ['if the new text is there already', 'a1\nb1\nc1\n', '\na1\n', '\na1\nb1\n', 'no-match'],
    ['with other words', '  let alpha = 1;\n', 'let beta = 1;', 'x', 'no-match'],
    [
      'if new escapes show that are not in the old',
      'say("hi");\n',
      'say(\\"hi\\");',
      "say(\\'hi\\');",
      'no-match',
    ],
    [
      'if new escapes show that may be escaped twice',
      'a1\nb1\nc1\n',
      'a1\\nb1',
      'a1\\nlog(x, \\\\n)',
      'no-match',
    ],
    [
      'if new quotes are escaped and old ones are not there',
      'a1\nb1\n',
      'a1\\nb1',
      'a1\\nb(\\"c\\")',
      'no-match',
    ],
  ])('%s', (_what, text, oldString, newString, kind) => {
    expect(edited(text, oldString, newString)).toEqual(['', kind]);
  });

  it.each<[string, string, string, NonNullable<Edit['lines']>]>([
    ['before the end of the file', '  a1\n  b1\nc1\n', 'a1\nb1\n', { atEnd: true }],
    ['before the end, if the new text ends the file', '  a1\n  b1\nc1\n', 'a1\nb1\n', { unended: true }],
    ['inside a line', 'xsay("hi");\n', 'say(\\"hi\\");\n', {}],
  ])('as a hunk of a patch that fits only %s', (_what, text, oldString, lines) => {
    const hunk = { oldString, newString: 'new\n', lines };
    expect(applyEdits(text, [hunk])).toMatchObject({ ok: false, kind: 'no-match' });
    const { lines: _hunk, ...edit } = hunk;
    expect(applyEdits(text, [edit])).toMatchObject({ ok: true });
  });

  it('if not every similar line can be compared', () => {
    const row = (name: string): string => `insert  ${name};\n`;
    const rows = row('x').repeat(250_000);
    expect(edited(row('one') + rows + row('one'), 'insert one;', 'y')[1]).toBe('no-match');
    expect(edited(row('one') + row('x'), 'insert one;', 'y')[1]).toBe('inner-spacing');
  });

  it('quickly, in a file of equal lines', () => {
    const anchor = `${'foo,\n'.repeat(2000)}bar`;
    expect(edited('  foo,\n'.repeat(50_000), anchor, 'x')[1]).toBe('no-match');
  });

  it('on a changed file, at every loose tier', () => {
    const options = { loosest: 'line-endings' } as const;
    expect(applyEdits('  a1\n  b1\n', [{ oldString: 'a1\nb1', newString: 'x' }], options)).toMatchObject({
      ok: false,
    });
  });
});
