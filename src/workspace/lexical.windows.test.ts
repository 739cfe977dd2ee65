import { describe, expect, it } from 'vitest';
import { readWindowsPath, windowsPrefix, windowsTrap } from './lexical.ts';

const DIGITS = [...'0123456789', '¹', '²', '³'];
const DEVICES = [
  'CON',
  'PRN',
  'AUX',
  'NUL',
  ...DIGITS.map((digit) => `COM${digit}`),
  ...DIGITS.map((digit) => `LPT${digit}`),
];
const SUFFIXES = ['', '.', '..', ' ', '  ', '. ', ' .', '.txt', ' .txt', '.tar.gz', '.txt ', ':', '::$DATA'];

describe('readWindowsPath', () => {
  it.each<[string, string[]]>([
    ['a\\b/c', ['a', 'b', 'c']],
    ['.\\a\\.\\b', ['a', 'b']],
    ['a\\..\\b', ['b']],
    ['..foo\\a', ['..foo', 'a']],
  ])('parses %j as a relative path', (input, parts) => {
    expect(readWindowsPath(input)).toEqual({ kind: 'relative', parts });
  });

  it.each<[string, string]>([
    ['c:\\Repo\\a.ts', 'C:/Repo/a.ts'],
    ['C:/Repo/../x', 'C:/x'],
    ['C:\\..\\..\\x', 'C:/x'],
    ['C:\\', 'C:/'],
  ])('parses %j as %j', (input, path) => {
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

  it('names the part that is not an ordinary name', () => {
    expect(readWindowsPath('a\\nul.txt')).toMatchObject({
      reason: '"nul.txt" is not an ordinary name (device)',
    });
  });
});

describe('windowsTrap', () => {
  it('recognises 30 device names with 13 suffixes, in any case', () => {
    expect([DEVICES.length, SUFFIXES.length]).toEqual([30, 13]);
    const names = DEVICES.flatMap((device) => SUFFIXES.map((suffix) => device + suffix));
    const passed = [...names, ...names.map((name) => name.toLowerCase())].filter(
      (name) => !windowsTrap(name),
    );
    expect(passed).toEqual([]);
  });

  it.each<[string, string]>([
    ['CONIN$', 'device'],
    ['conout$', 'device'],
    ['CLOCK$.x', 'device'],
    ['com¹.txt', 'device'],
    ['a.txt::$DATA', 'stream'],
    ['a:b', 'stream'],
    ['a.', 'trailing'],
    ['a ', 'trailing'],
    ['a. .', 'trailing'],
    ['.env.', 'trailing'],
    ['PROGRA~1', 'short-name'],
    ['ab~12.txt', 'short-name'],
    ['.GIT~1'.slice(1), 'short-name'],
    ['a?b', 'reserved-character'],
    ['a*', 'reserved-character'],
    ['a<b', 'reserved-character'],
    ['a>b', 'reserved-character'],
    ['a"b', 'reserved-character'],
    ['a|b', 'reserved-character'],
    ['a\u0001b', 'reserved-character'],
  ])('recognises %j as a %s', (name, trap) => {
    expect(windowsTrap(name)).toBe(trap);
  });

  it.each([
    'a',
    'a.txt',
    '.env',
    '..foo',
    'console',
    'conx',
    'nulls.txt',
    'com',
    'com10',
    'lpt',
    'xcom1',
    'a.con',
    'aux-1.ts',
    'file~',
    'backup~x',
    'verylongname~1',
    'Ünïcode',
    '.',
    '..',
  ])('accepts %j as an ordinary name', (name) => {
    expect(windowsTrap(name)).toBeUndefined();
  });
});

describe('windowsPrefix', () => {
  it.each<[string, string]>([
    ['a\\b', 'relative'],
    ['a/b', 'relative'],
    ['.\\a', 'relative'],
    ['C:\\a', 'drive'],
    ['c:/a', 'drive'],
    ['C:a', 'drive-relative'],
    ['C:', 'drive-relative'],
    ['C:..\\a', 'drive-relative'],
    ['\\a', 'rooted'],
    ['/a', 'rooted'],
    ['\\\\server\\share', 'unc'],
    ['//server/share', 'unc'],
    ['\\\\?\\C:\\a', 'namespace'],
    ['\\\\.\\PhysicalDrive0', 'namespace'],
    ['//./pipe/x', 'namespace'],
    ['//?/C:/a', 'namespace'],
    ['\\??\\C:\\a', 'namespace'],
  ])('%j begins as %s', (path, prefix) => {
    expect(windowsPrefix(path)).toBe(prefix);
  });
});
