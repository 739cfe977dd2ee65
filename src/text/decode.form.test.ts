import { describe, expect, it } from 'vitest';
import { bytesInFormOf } from './decode.ts';
import { countFileLines } from './file-lines.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');

describe('bytesInFormOf', () => {
  it.each<[string, Buffer, string, Buffer]>([
    ['a BOM', Buffer.from('\ufeffone\n'), 'two\n', Buffer.from('\ufefftwo\n')],
    ['a BOM, once', Buffer.from('\ufeffone\n'), '\ufefftwo\n', Buffer.from('\ufefftwo\n')],
    ['UTF-16', utf16('one\n'), 'zwei ü\n', utf16('zwei ü\n')],
    ['CRLF in an older encoding', Buffer.from([0xe9, 0x0d, 0x0a]), 'é\n', Buffer.from('é\r\n')],
    ['UTF-16 and CRLF', utf16('one\r\n'), 'a\nb\r\n', utf16('a\r\nb\r\n')],
    ['CRLF', Buffer.from('a\r\nb\r\n'), 'x\ny', Buffer.from('x\r\ny')],
    ['CRLF, with a BOM of the text', Buffer.from('a\r\n'), '\ufeffx\n', Buffer.from('\ufeffx\r\n')],
  ])('keeps %s', (_what, existing, text, expected) => {
    expect(Buffer.from(bytesInFormOf(existing, text) ?? [])).toEqual(expected);
  });

  it.each<[string, Buffer]>([
    ['plain text', Buffer.from('a\nb\n')],
    ['an empty file', Buffer.alloc(0)],
    ['mixed endings', Buffer.from('a\r\nb\n')],
    ['one line without an ending', Buffer.from('a')],
    ['a binary', Buffer.from([0, 1, 2, 3, 0, 255])],
    ['an older encoding with LF', Buffer.from([0x63, 0xe9, 0x0a])],
    ['a binary with CRLF', Buffer.from([0, 1, 0xe9, 0x0d, 0x0a])],
  ])('does not convert the text that replaces %s', (_what, existing) => {
    expect(bytesInFormOf(existing, 'x\r\ny\n')).toBeUndefined();
  });
});

describe('countFileLines', () => {
  it.each<[string, Buffer, number]>([
    ['UTF-16', utf16('one\ntwo\n'), 2],
    ['UTF-16 without a final newline', utf16('one\ntwo'), 2],
    ['UTF-16 without a mark', Buffer.from('one\ntwo\n', 'utf16le'), 2],
    ['big-endian UTF-16', utf16('one\ntwo\n').swap16(), 2],
    ['UTF-16 with newline bytes inside letters', utf16('\u0a05\u0a15\n\u0a05\n'), 2],
    ['an empty text in UTF-16', utf16(''), 0],
    ['UTF-8', Buffer.from('one\ntwo'), 2],
    ['an older encoding', Buffer.from([0xe9, 0x0a, 0xe9, 0x0a]), 2],
    ['an empty file', Buffer.alloc(0), 0],
    ['a binary', Buffer.from([0, 1, 0x0a, 3, 0, 255, 7]), 2],
  ])('counts the lines of %s', (_what, bytes, lines) => {
    expect(countFileLines(bytes)).toBe(lines);
  });
});
