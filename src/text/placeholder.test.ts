import { describe, expect, it, vi } from 'vitest';
import { clampLine, numberLines } from './lines.ts';
import { findPlaceholder, stubIn } from './placeholder.ts';
import { MASK } from './secrets.ts';

const FILE = 'import a\n\nfunction f() {\n  return 1;\n}\n';

function placeholderIn(
  content: string,
  existing: string | undefined,
  options?: Parameters<typeof findPlaceholder>[2],
): ReturnType<typeof findPlaceholder> {
  return findPlaceholder(content, () => existing, options);
}

describe('findPlaceholder', () => {
  it('finds the line numbers of a pasted read, whatever the first number is', () => {
    expect(placeholderIn(numberLines(FILE, 1), FILE)).toEqual({
      line: 1,
      text: '1\timport a',
      kind: 'line-numbers',
    });
    expect(placeholderIn('x\n3\tfunction f() {\n4\t  return 2;\n', FILE)).toMatchObject({ line: 2 });
  });

  it.each([
    ['with a changed line', '1\timport a\n2\t\n3\tfunction g() {\n4\t  return 1;\n5\t}\n'],
    [
      'with a new line and the rest renumbered',
      '1\timport a\n2\timport b\n3\t\n4\tfunction f() {\n5\t  return 1;\n',
    ],
    ['with padded numbers and CRLF', '     3\tfunction f() {\r\n     4\t  return 1;\r\n'],
  ])('finds the line numbers of a read pasted %s', (_what, content) => {
    expect(placeholderIn(content, FILE)).toMatchObject({ kind: 'line-numbers' });
  });

  it('finds the line number of a pasted file of one line', () => {
    expect(placeholderIn('1\thello\n', 'hello\n')).toMatchObject({ kind: 'line-numbers' });
  });

  it.each<[string, string, number | undefined]>([
    ['in its place in the new file', 'import a\n\n3\tfunction f() {\n  return 2;\n}\n', undefined],
    ['in place of that line, and changed', '3\tfunction g() {', 3],
    ['among other new lines', '  return 0;\n5\t}', 4],
  ])('finds one pasted line number %s', (_what, content, at) => {
    const options = at === undefined ? {} : { at };
    expect(placeholderIn(content, FILE, options)).toMatchObject({ kind: 'line-numbers' });
  });

  it.each<[string, string, string, number]>([
    ['at another place', '3\tfunction g() {', FILE, 4],
    ['before other words', '3\tvalue', FILE, 3],
    ['in a table', '3\tgrapes', 'x\n1\tapple\n2\tgrapes\n', 3],
    ['of a value in the middle of a line', '2\tkm per hour', 'x\nspeed 1\tkm per hour\n', 2],
  ])('allows one number %s', (_what, content, existing, at) => {
    expect(placeholderIn(content, existing, { at })).toBeUndefined();
  });

  it.each([
    ['a new table of numbers and tabs', '1\tapple\n2\tpear\n3\tplum\n', FILE],
    ['a table in a new file', '1\timport a\n2\t\n3\tfunction f() {\n', undefined],
    ['a table that is there already', '1\tapple\n2\tpear\n3\tfig\n', '1\tapple\n2\tpear\n'],
    ['a table with a line of the file elsewhere', '7\timport a\n8\t}\n', FILE],
    ['a number before one line', '3\tfunction f() {\n', FILE],
    ['numbers that do not count up', '3\tfunction f() {\n3\tfunction f() {\n', FILE],
    ['numbers of lines that are mostly new', '1\timport a\n2\tx\n3\ty\n4\tz\n5\tw\n', FILE],
  ])('allows %s', (_what, content, existing) => {
    expect(placeholderIn(content, existing)).toBeUndefined();
  });

  it('checks only numbers of the lines shown, if these are known', () => {
    const content = '3\tfunction f() {\n4\t  return 1;\n';
    expect(placeholderIn(content, FILE, { shown: { from: 1, to: 2 } })).toBeUndefined();
    expect(placeholderIn(content, FILE, { shown: { from: 3, to: 5 } })).toMatchObject({ line: 1 });
  });

  it.each([
    ['receipt', '[read src/a b.ts lines 1-20 of 40 revision 0a1b2c]'],
    ['receipt', '[read a lines 1-20 of 40]'],
    ['receipt', '[read a.log lines 1-2000 of a 12.3 MB file]'],
    ['receipt', '[read "a b].log" lines 1-1 of a 900 B file revision 0a1b2c3d4e5f]'],
    ['receipt', '[read a.png as image/png, 1234 bytes]'],
    ['receipt', '[read a.txt revision 0a1b2c3d4e5f]'],
    ['redaction', 'key = "[REDACTED:aws-key]"'],
    ['redaction', 'TOKEN=[secret:github-token#2]'],
    ['clamp-mark', clampLine('x'.repeat(50), 20).text],
    ['stub', '// ... rest of file unchanged ...'],
  ])('finds a %s: %s', (kind, line) => {
    expect(placeholderIn(`a\n  b\n${line}\nc\n`, 'other\n')).toEqual({ line: 3, text: line, kind });
    expect(placeholderIn(`a\n${line}\n`, undefined)).toMatchObject({ line: 2, kind });
  });

  it.each([
    ['[read a lines 1-20 of 40]', 'x\n[read a lines 1-20 of 40]\n'],
    ['  // ... existing code ...', 'a\r\n// ... existing code ...\r\nb'],
    ['key = [REDACTED:a]', 'other = [REDACTED:a]\n'],
  ])('allows %j if the file already contains it', (line, existing) => {
    expect(placeholderIn(`new\n${line}\n`, existing)).toBeUndefined();
    expect(placeholderIn(`new\n${line}\n`, 'nothing')).toBeDefined();
  });

  it('leaves our own mask to the check of files that were shown masked', () => {
    expect(placeholderIn(`TOKEN=${MASK}\n`, 'other\n')).toBeUndefined();
  });

  it.each(['[read more](guide.md)', '[read the guide]', '[read it as text, 3 pages]', '[read revision two]'])(
    'allows %s, which is no receipt',
    (line) => {
      expect(placeholderIn(`a\n${line}\n`, 'other\n')).toBeUndefined();
    },
  );

  it('allows a stub in a fenced example, and not one after it', () => {
    expect(placeholderIn('# Guide\n```ts\n// ... existing code ...\n```\n', undefined)).toBeUndefined();
    expect(placeholderIn('```\n```\n// ... existing code ...\n', undefined)).toMatchObject({ line: 3 });
  });

  it('treats a remark as a stub only if it is not the end of a longer comment', () => {
    expect(placeholderIn('f()\n// rest of the code\n', undefined)).toMatchObject({ line: 2 });
    expect(placeholderIn('// This is checked by the\n// rest of the code\n', undefined)).toBeUndefined();
    expect(placeholderIn('// note\n// ... rest of the code ...\n', undefined)).toMatchObject({ line: 2 });
  });

  it('does not need the existing text for ordinary comments, headings and numbers', () => {
    const existing = vi.fn(() => FILE);
    const content = '// a comment\n# a heading\n12 apples\n[a list]\n/** A contract. */\n';
    expect(findPlaceholder(content, existing)).toBeUndefined();
    expect(existing).not.toHaveBeenCalled();
    expect(findPlaceholder('// ... existing code ...\n', existing)).toBeDefined();
    expect(existing).toHaveBeenCalledTimes(1);
  });

  it('cuts the line it reports', () => {
    const found = placeholderIn(`${'x'.repeat(500)}[REDACTED:a]`, undefined);
    expect(found?.text).toHaveLength(120);
  });
});

describe('stubIn', () => {
  it.each([
    '... rest of file unchanged',
    '... rest of the file remains unchanged ...',
    '[... rest of file unchanged ...]',
    '// existing code',
    '// ... existing code ...',
    '// ...existing code...',
    '// Existing code here',
    '/* ... existing code ... */',
    '{/* ... existing code ... */}',
    '<!-- rest unchanged -->',
    '<!-- ... existing content ... -->',
    '# ... (unchanged)',
    '# ... existing code ...',
    '# Rest of the file remains the same',
    '# rest of the code unchanged',
    '    # ... rest of the implementation',
    '// ... (rest of the function)',
    '// rest of the code',
    '// The rest of the code remains the same.',
    '// rest of the component stays as is',
    '// other methods remain unchanged',
    '/* ... other styles remain unchanged ... */',
    '// ... all other routes stay the same',
    '// remaining code unchanged',
    '// keep existing code',
    '// keep the rest of the file as is',
    '// code omitted for brevity',
    '// Code omitted',
    '-- ... rest of the script ...',
    '; ... unchanged ...',
    '% ... unchanged',
    '...[truncated]',
    '… (truncated)',
    '... [12 lines omitted]',
    '... 120 unchanged lines ...',
    '… 7 more lines of this diff not shown',
    '// ... same as before',
    '# ... previous code ...',
  ])('finds %j', (line) => {
    expect(stubIn(line)).toBeDefined();
  });

  it.each([
    '',
    '...',
    '…',
    '// ...',
    '# ...',
    '/* ... */',
    '    ...',
    'def f(): ...',
    '...rest',
    '...rest,',
    '...existing,',
    '...unchanged',
    '...truncated,',
    'return { ...unchanged, a };',
    '# Existing code',
    '## Rest of the file',
    '# unchanged',
    '// unchanged',
    '// truncated',
    '// output truncated',
    '- Rest of the API unchanged',
    'The rest of the file is unchanged.',
    '(The rest of the code remains the same.)',
    '// the rest of the file is unchanged when dry-run is on',
    '// rest of the arguments',
    '// rest of the line',
    '// existing rows stay untouched',
    '# existing users are unchanged',
    '# keep existing config',
    '# keep existing value',
    '// Existing code paths keep working',
    '/* existing code style: tabs */',
    '// same as before, but faster',
    '// remaining lines are comments',
    "console.log('... rest of file unchanged');",
    'const stub = "// existing code";',
    '... 12 more',
    'at f (a.js:1:2)',
    '    ... 23 common frames omitted',
    '[read more](https://example.org)',
    '[REDACTED]',
    '--- a/file',
    '-- Table of contents',
    '<code>unchanged</code>',
    '<p>... and the rest of the code</p>',
    '--------',
    '########',
    '#!/bin/sh',
    '#include <rest>',
    '; semicolon',
    '.rest { color: red }',
    '{ "unchanged": true }',
    '[truncated]',
    '// See the previous section',
    '// TODO: rest of the code is ugly',
  ])('ignores %j', (line) => {
    expect(stubIn(line)).toBeUndefined();
  });

  it('is fast on contrived lines', () => {
    for (const line of [
      '(('.repeat(60),
      '/*'.repeat(70),
      `// ${'rest of '.repeat(18)}`,
      '…'.repeat(150),
      '. '.repeat(70),
    ])
      expect(stubIn(line)).toBeUndefined();
  });
});
