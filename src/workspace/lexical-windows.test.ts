import { describe, expect, it } from 'vitest';
import { readWindowsPath } from './lexical-windows.ts';

describe('readWindowsPath', () => {
  it.each<[string, string[]]>([
    ['a\\b/c', ['a', 'b', 'c']],
    ['.\\a\\.\\b', ['a', 'b']],
    ['a\\..\\b', ['b']],
    ['..foo\\a', ['..foo', 'a']],
  ])('takes %j as a relative path', (input, parts) => {
    expect(readWindowsPath(input)).toEqual({ kind: 'relative', parts });
  });

  it.each<[string, string]>([
    ['c:\\Repo\\a.ts', 'C:/Repo/a.ts'],
    ['C:/Repo/../x', 'C:/x'],
    ['C:\\..\\..\\x', 'C:/x'],
    ['C:\\', 'C:/'],
  ])('takes %j as %j', (input, path) => {
    expect(readWindowsPath(input)).toMatchObject({ kind: 'absolute', path });
  });

  it.each(['..', '..\\a', 'a\\..\\..\\b', 'a/..\\../b'])('says that %j climbs', (input) => {
    expect(readWindowsPath(input)).toEqual({ kind: 'climbs' });
  });

  it.each<[string, unknown]>([
    ['a device in the middle', 'a\\NUL\\b'],
    ['a device with an extension', 'a\\con.txt'],
    ['a stream', 'a.txt:hidden'],
    ['the data stream', 'a.txt::$DATA'],
    ['a trailing dot', 'secret.\\x'],
    ['a trailing space', 'secret \\x'],
    ['a short name', 'PROGRA~1\\x'],
    ['a drive-relative path', 'C:a'],
    ['a rooted path', '\\windows'],
    ['a share', '\\\\server\\share\\a'],
    ['a namespace path', '\\\\?\\C:\\a'],
    ['a stream on a drive', 'C:\\a:b'],
    ['nothing', ''],
    ['a NUL', 'a\0'],
    ['a number', 1],
  ])('rejects %s', (_what, input) => {
    expect(readWindowsPath(input)).toMatchObject({ kind: 'invalid' });
  });

  it('says which part is no ordinary name', () => {
    expect(readWindowsPath('a\\nul.txt')).toMatchObject({
      reason: '"nul.txt" is not an ordinary name (device)',
    });
  });
});
