import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
// Registers the loader of the packages for older encodings.
import '../disk/read.ts';
import { decodeText, encodeText, hasNoLines, looksBinary } from './decode.ts';

const RUSSIAN = 'Съешь же ещё этих мягких французских булок, да выпей чаю.\r\n'.repeat(5);
const JAPANESE = 'これは日本語の文章です。ファイルを読み込みます。\n'.repeat(5);
const CHINESE = '这是一个中文文件，用来测试编码识别的功能。\n'.repeat(5);
const GERMAN = 'Grüße aus Köln: äöü ÄÖÜ ß, schöne Straßen überall.\n'.repeat(5);

describe('decodeText', () => {
  it.each([
    ['an empty file', Buffer.from([]), '', 'utf-8', false],
    ['ASCII', Buffer.from('abc\n'), 'abc\n', 'utf-8', false],
    ['UTF-8', Buffer.from('héllo 🙂'), 'héllo 🙂', 'utf-8', false],
    ['UTF-8 with its mark', Buffer.from('\ufeffhé'), 'hé', 'utf-8', true],
    ['UTF-8 with two marks keeps one', Buffer.from('\ufeff\ufeffx'), '\ufeffx', 'utf-8', true],
    ['UTF-16LE with its mark', Buffer.from('\ufeffhé🙂\n', 'utf16le'), 'hé🙂\n', 'utf-16le', true],
    ['UTF-16BE with its mark', Buffer.from('\ufeffhé\n', 'utf16le').swap16(), 'hé\n', 'utf-16be', true],
    ['UTF-16LE without a mark', Buffer.from('one two\n', 'utf16le'), 'one two\n', 'utf-16le', false],
    ['UTF-16BE without a mark', Buffer.from('one two\n', 'utf16le').swap16(), 'one two\n', 'utf-16be', false],
    ['UTF-16LE in another script', Buffer.from('слово два\n', 'utf16le'), 'слово два\n', 'utf-16le', false],
    ['a late NUL in UTF-8', Buffer.from(`${'x'.repeat(9000)}\0`), `${'x'.repeat(9000)}\0`, 'utf-8', false],
  ])('reads %s', (_what, bytes, text, encoding, bom) => {
    expect(decodeText(bytes)).toEqual({ text, encoding, bom });
  });

  it.each([
    ['windows-1251', RUSSIAN],
    ['shift_jis', JAPANESE],
    ['gb18030', CHINESE],
    ['windows-1252', GERMAN],
    ['windows-1252', `${GERMAN}“Zitat” – 5 €\n`],
  ])('recognises %s and restores the same bytes', (encoding, text) => {
    const bytes = iconv.encode(text, encoding);
    const decoded = decodeText(bytes);
    expect(decoded).toEqual({ text, encoding, bom: false });
    expect(Buffer.from(encodeText(text, decoded!)!)).toEqual(bytes);
  });

  it.each([
    ['a word', 'caf\u00e9\n', 'windows-1252'],
    ['a line of code', 'caf\u00e9 = 1\nb = 2\n', 'windows-1252'],
    ['a comment in Spanish', '// a\u00f1o nuevo, ni\u00f1o\n', 'windows-1252'],
    ['a temperature', 'T = 20\u00b0C \u00b1 1\n', 'windows-1252'],
    ['two capitals', '\u00c4\u00d6 = 1;\n', 'windows-1252'],
    ['a price', '5 \u20ac\n', 'windows-1252'],
    ['a short word with two letters in a row', 'Gr\u00fc\u00dfe\n', 'windows-1252'],
    ['the shortest word', '\u00d6l\n', 'windows-1252'],
    ['a line of nothing but such letters', '\u00e6\u00f8\u00e5\n', 'windows-1252'],
    [
      'a line of ten capitals',
      '\u00c0\u00c9\u00ce\u00d5\u00dc\u00c0\u00c9\u00ce\u00d5\u00dc\n',
      'windows-1252',
    ],
  ])('treats %s as Western, because it is too short to detect', (_what, text, encoding) => {
    expect(decodeText(iconv.encode(text, encoding))).toEqual({ text, encoding, bom: false });
  });

  it('samples around the first non-ASCII byte, however late it occurs', () => {
    const bytes = iconv.encode('plain line\n'.repeat(20_000) + RUSSIAN, 'windows-1251');
    expect(decodeText(bytes)?.encoding).toBe('windows-1251');
  });

  it('uses the Windows superset if its characters occur after the sample', () => {
    const bytes = iconv.encode(`${GERMAN.repeat(600)}“Zitat”\n`, 'windows-1252');
    expect(bytes.length).toBeGreaterThan(65536);
    expect(decodeText(bytes)?.encoding).toBe('windows-1252');
  });

  it.each([
    ['a NUL among bytes', Buffer.from([0, 1, 2, 255, 254, 0, 7])],
    ['a NUL among letters', Buffer.from('a\0b\n')],
    ['names parted by NULs', Buffer.from('a.txt\0b.txt\0')],
    ['UTF-16 of odd length', Buffer.from([0xff, 0xfe, 0x41])],
    ['two bytes that could be UTF-16', Buffer.from('a', 'utf16le')],
    ['six bytes that could be', Buffer.from('a\n1', 'utf16le').swap16()],
    ['UTF-16 with a lone surrogate', Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x41, 0x00])],
    ['UTF-32LE', Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0])],
    ['a UTF-8 mark before broken UTF-8', Buffer.from([0xef, 0xbb, 0xbf, 0xff, 0x41])],
    ['control bytes with high bytes', Buffer.from([0x01, 0x02, 0x9f, 0xc3, 0x28, 0x90, 0x81])],
    ['nothing but high bytes', Buffer.from([200, 201, 202])],
    ['a compressed stream', Buffer.from('1f8b0800a1b2c3d4e5f60102030405060708a9', 'hex')],
  ])('treats %s as binary', (_what, bytes) => {
    expect(decodeText(bytes)).toBeUndefined();
  });

  it('restores every accepted file byte for byte', () => {
    const units = fc.array(fc.nat(0xffff), { maxLength: 30 }).map((codes) => String.fromCharCode(...codes));
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      units.map((text) => new Uint8Array(Buffer.from(text))),
      units.map((text) => new Uint8Array(Buffer.from(`\ufeff${text}`, 'utf16le'))),
      fc.uint8Array({ min: 0x20, maxLength: 100 }),
    );
    fc.assert(
      fc.property(bytes, (given) => {
        const decoded = decodeText(given);
        if (decoded === undefined) return;
        expect(decoded.text).not.toMatch(
          decoded.encoding === 'utf-8' ? /\p{Surrogate}/u : /\p{Surrogate}|\0/u,
        );
        expect(Buffer.from(encodeText(decoded.text, decoded)!)).toEqual(Buffer.from(given));
      }),
      { numRuns: 400 },
    );
  });
});

describe('encodeText', () => {
  it.each([
    ['an emoji in Latin-1', '🙂', { encoding: 'iso-8859-1', bom: false }],
    ['Cyrillic in windows-1252', 'ж', { encoding: 'windows-1252', bom: false }],
    ['a lone surrogate in UTF-8', 'a\ud800b', { encoding: 'utf-8', bom: false }],
    ['a lone surrogate in UTF-16', 'a\udc00', { encoding: 'utf-16le', bom: true }],
    ['an encoding nobody knows', 'a', { encoding: 'klingon', bom: false }],
  ])('refuses %s instead of replacing it', (_what, text, form) => {
    expect(encodeText(text, form)).toBeUndefined();
  });

  it('keeps a replacement character that the file contains', () => {
    expect(Buffer.from(encodeText('\ufffd', { encoding: 'utf-8', bom: false })!)).toEqual(
      Buffer.from('\ufffd'),
    );
  });

  it.each([
    ['utf-8', Buffer.from('\ufeffé')],
    ['utf-16le', Buffer.from('\ufeffé', 'utf16le')],
    ['utf-16be', Buffer.from('\ufeffé', 'utf16le').swap16()],
  ])('writes the byte order mark of %s', (encoding, bytes) => {
    expect(Buffer.from(encodeText('é', { encoding, bom: true })!)).toEqual(bytes);
  });
});

describe('looksBinary', () => {
  it.each([
    [false, 'text', Buffer.from('text')],
    [false, 'UTF-16 with a mark', Buffer.from('\ufefftext', 'utf16le')],
    [false, 'UTF-16 without', Buffer.from('text', 'utf16le')],
    [true, 'a NUL', Buffer.from('a\0b')],
    [false, 'broken UTF-8, which needs more than a glance', Buffer.from([0xff, 0x41])],
  ])('says %s for %s', (binary, _what, bytes) => {
    expect(looksBinary(bytes)).toBe(binary);
  });
});

describe('hasNoLines', () => {
  it.each([
    ['compressed bytes without a NUL', deflateSync('blob 4'), true],
    ['bytes with a NUL', Buffer.from('a\0b'), true],
    ['an empty file', Buffer.from(''), false],
    ['UTF-8 with control characters', Buffer.from('\x1b[1mhé\x1b[0m\x02\n'), false],
    ['UTF-8 whose last character is cut by the limit', Buffer.from(`\x02${'é'.repeat(5000)}`), false],
    ['windows-1252', iconv.encode(GERMAN, 'windows-1252'), false],
    ['Shift JIS', iconv.encode(JAPANESE, 'shift_jis'), false],
    ['UTF-16', Buffer.from('\ufeff\u0102\u0304\n', 'utf16le'), false],
  ])('of %s is %s', (_what, bytes, expected) => {
    expect(hasNoLines(bytes)).toBe(expected);
  });
});
