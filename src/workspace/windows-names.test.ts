import { describe, expect, it } from 'vitest';
import { windowsPrefix, windowsTrap } from './windows-names.ts';

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

describe('windowsTrap', () => {
  it('knows 30 device names with 13 suffixes, in any case', () => {
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
  ])('takes %j for a %s', (name, trap) => {
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
  ])('lets %j be an ordinary name', (name) => {
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
