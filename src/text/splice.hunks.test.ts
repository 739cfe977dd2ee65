import { describe, expect, it } from 'vitest';
import type { Edit } from '../model/intent.ts';
import { applyEdits } from './splice.ts';

/** Applies a hunk. Returns the resulting text, or the kind of failure. */
function patched(text: string, oldString: string, newString: string, lines: Edit['lines'] = {}): string {
  const applied = applyEdits(text, [{ oldString, newString, lines }]);
  return applied.ok ? applied.text : applied.kind;
}

describe('a hunk that fits several places', () => {
  it.each<[string, string, string, string, NonNullable<Edit['lines']>, string]>([
    ['which overlap', 'x\nx\nx\n', 'x\nx\n', 'x\ny\nx\n', { near: 2 }, 'x\nx\ny\nx\n'],
    ['which overlap, without a line number', 'x\nx\nx\n', 'x\nx\n', 'x\ny\nx\n', {}, 'ambiguous'],
    ['of which one is an unended end', 'x\ny\nx', 'x\n', 'z\n', {}, 'ambiguous'],
    ['and means the first', 'x\ny\nx', 'x\n', 'z\n', { near: 1 }, 'z\ny\nx'],
    ['and means the unended end', 'x\ny\nx', 'x\n', 'z\n', { near: 3 }, 'x\ny\nz\n'],
    ['and must be at the unended end', 'x\ny\nx', 'x\n', 'z\n', { atEnd: true }, 'x\ny\nz\n'],
    ['and leaves the end unended', 'x\ny\nx', 'x\n', 'z', { near: 3, unended: true }, 'x\ny\nz'],
    ['with CRLF, of which one is the end', 'x\r\ny\r\nx', 'x\n', 'z\n', { near: 3 }, 'x\r\ny\r\nz\r\n'],
    ['with different endings', 'x\r\ny\nx\n', 'x\n', 'z\n', { near: 1 }, 'z\r\ny\nx\n'],
    ['with different endings, without a number', 'x\r\ny\nx\n', 'x\n', 'z\n', {}, 'ambiguous'],
  ])('%s', (_what, text, oldString, newString, lines, expected) => {
    expect(patched(text, oldString, newString, lines)).toBe(expected);
  });

  it.each<[string, string, string, string, NonNullable<Edit['lines']>, string]>([
    ['the unended end, not an equal place', 'a\nb\na\nb', 'a\nb\n', 'a\nc\n', { near: 3 }, 'a\nb\na\nc\n'],
    ['an unended end', 'a\nb', 'a\nb\n', 'a\nc', { near: 1, unended: true }, 'a\nc'],
    ['an unended end that it ends', 'a\nb', 'b\n', 'c\n', { near: 2, ended: true }, 'a\nc\n'],
    ['an unended end with CRLF', 'a\r\nb', 'a\nb\n', 'a\nc\n', { near: 1 }, 'a\r\nc\r\n'],
  ])('changes %s, with exact matching too', (_what, text, oldString, newString, lines, expected) => {
    for (const matching of ['exact', 'safe'] as const) {
      const options = { matching, loosest: 'line-endings' } as const;
      const applied = applyEdits(text, [{ oldString, newString, lines }], options);
      expect(applied).toMatchObject({ ok: true, text: expected });
    }
  });

  it('is not applied before the end, if its last old line is the unended end', () => {
    expect(patched('a\nb\nmore', 'b\n', 'c\n', { near: 2, ended: true })).toBe('no-match');
    expect(patched('b\na\nb', 'b\n', 'c\n', { near: 1, ended: true })).toBe('b\na\nc\n');
  });

  it('is placed quickly in a large file', () => {
    const text = `head\n${'  }\n  other line\n'.repeat(100_000)}`;
    expect(patched(text, '  }\n', '  };\n', { after: 'head' })).toMatch(/^head\n {2}\};\n/);
    expect(patched(text, '  }\n', '  };\n', { near: 2 })).toMatch(/^head\n {2}\};\n/);
  });
});

describe('a hunk that matches only loosely', () => {
  it.each<[string, string, NonNullable<Edit['lines']>, string]>([
    ['changes the last line, which gets a newline', 'b1 = 2\n', {}, 'x\n\tb1 = 2\n'],
    ['adds a line after it', 'b1 = 1\nc1\n', {}, 'x\n\tb1 = 1\n\tc1\n'],
    ['keeps the last line', 'a1\nb1 = 1\n', {}, 'x\n\ta1\n\tb1 = 1'],
    ['adds only the newline', 'b1 = 1\n', { ended: true }, 'x\n\tb1 = 1\n'],
    ['leaves the end unended', 'b1 = 2', { unended: true }, 'x\n\tb1 = 2'],
  ])('%s', (_what, newString, lines, expected) => {
    const edit = { oldString: 'b1 = 1\n', newString, lines, mayBeSame: true };
    expect(applyEdits('x\n\tb1 = 1', [edit])).toMatchObject({ text: expected, tier: 'indentation' });
    const crlf = expected.replaceAll('\n', '\r\n');
    expect(applyEdits('x\r\n\tb1 = 1', [edit])).toMatchObject({ text: crlf });
  });
});

describe('the header of a hunk', () => {
  const file = 'class A:\n  def a():\n    x = 1\n    return x\n\n  def b():\n    x = 2\n    return x\n';

  it('chooses the place in the block below it', () => {
    const chosen = file.replace('x = 2\n    return x', 'x = 2\n    return 0');
    expect(patched(file, '    return x\n', '    return 0\n', { after: 'def b():' })).toBe(chosen);
  });

  it('chooses none if it is missing, there twice, or above several places', () => {
    for (const after of ['def c():', 'class A:'])
      expect(patched(file, '    return x\n', '    return 0\n', { after })).toBe('ambiguous');
    expect(patched(file + file, '    return x\n', '    return 0\n', { after: 'def b():' })).toBe('ambiguous');
  });

  it('may be followed by a brace in a line of its own', () => {
    const code = 'void f()\n{\n  a();\n  r();\n}\nvoid g()\n{\n  b();\n  r();\n}\n';
    expect(patched(code, '  r();\n', '  s();\n', { after: 'void g()' })).toBe(
      code.replace('b();\n  r();', 'b();\n  s();'),
    );
  });
});
