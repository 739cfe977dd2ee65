import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EXACT, partsBelow, platformFolding, readPath } from './lexical.ts';

describe('readPath', () => {
  it.each<[string, string[]]>([
    ['a', ['a']],
    ['a/b', ['a', 'b']],
    ['./a//b/.', ['a', 'b']],
    ['a/', ['a']],
    ['a/../b', ['b']],
    ['a/b/../..', []],
    ['.', []],
    ['..foo', ['..foo']],
    ['foo..', ['foo..']],
    ['...', ['...']],
    ['a/..b/c', ['a', '..b', 'c']],
    // The parser decodes and expands nothing.
    ['%2e%2e/%2e%2e/etc', ['%2e%2e', '%2e%2e', 'etc']],
    ['~/x', ['~', 'x']],
    ['$HOME/x', ['$HOME', 'x']],
    ['file:a', ['file:a']],
    ['a\\..\\b', ['a\\..\\b']],
    [' a ', [' a ']],
    ['-rf', ['-rf']],
    ['a\nb', ['a\nb']],
  ])('parses %j as a relative path', (input, parts) => {
    expect(readPath(input)).toEqual({ kind: 'relative', parts });
  });

  it.each<[string, string]>([
    ['/', '/'],
    ['//a///b/', '/a/b'],
    ['/a/../../../b', '/b'],
    ['/..', '/'],
    ['/w/..foo', '/w/..foo'],
  ])('parses %j as the absolute path %j', (input, path) => {
    expect(readPath(input)).toMatchObject({ kind: 'absolute', path });
  });

  it.each(['..', '../a', 'a/../..', 'a/../../a', './..', 'a/b/../../../c'])(
    'says that %j climbs',
    (input) => {
      expect(readPath(input)).toEqual({ kind: 'climbs' });
    },
  );

  it.each<[string, unknown]>([
    ['nothing', ''],
    ['more than a system call takes', 'd/'.repeat(2048)],
    ['more bytes than a system call takes', 'ü'.repeat(2048)],
    ['a NUL', 'a\0b'],
    ['a NUL at the end', 'a.txt\0'],
    ['half a surrogate pair', 'a\ud800'],
    ['undefined', undefined],
    ['null', null],
    ['a number', 7],
    ['bytes', Buffer.from('a')],
    ['a URL', new URL('file:///a')],
    ['an array', ['a']],
    ['an object that has a string', { toString: () => 'a' }],
  ])('rejects %s', (_what, input) => {
    expect(readPath(input)).toMatchObject({ kind: 'invalid' });
  });

  it('never returns "." or ".." or an empty name, for any input', () => {
    const pieces = fc.array(fc.constantFrom('..', '.', '', 'a', '..a', '/', 'b'), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, (parts) => {
        const lexical = readPath(parts.join('/'));
        if (lexical.kind !== 'relative' && lexical.kind !== 'absolute') return;
        expect(lexical.parts.filter((part) => part === '' || part === '.' || part === '..')).toEqual([]);
        expect(lexical.parts.join('').includes('/')).toBe(false);
      }),
    );
  });
});

describe('partsBelow', () => {
  it.each<[string, string, string[] | undefined]>([
    ['/w', '/w', []],
    ['/w', '/w/a/b', ['a', 'b']],
    ['/', '/a', ['a']],
    ['/w', '/w-evil', undefined],
    ['/w', '/w-evil/a', undefined],
    ['/w/x', '/w', undefined],
    ['/w', '/W/a', undefined],
    ['/w', '/', undefined],
  ])('below %j, %j is %j', (root, path, parts) => {
    expect(partsBelow(root, path, EXACT)).toEqual(parts);
  });

  it('ignores case and Unicode form of the root if the file system does, and keeps the rest as written', () => {
    expect(partsBelow('/Users/Zo\u00eb', '/users/ZOE\u0308/A', platformFolding('darwin'))).toEqual(['A']);
    expect(partsBelow('/Users/Zo\u00eb', '/users/ZOE\u0308/A', platformFolding('win32'))).toBeUndefined();
  });
});
