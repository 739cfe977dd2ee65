import { describe, expect, it } from 'vitest';
import { sniffMedia } from './sniff-media.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const withNul = (text: string) => Buffer.from(`${text}\0\0`, 'latin1');

describe('sniffMedia', () => {
  it.each([
    ['image/png', hex('89504e470d0a1a0a 0000'), 'a'],
    ['image/jpeg', hex('ffd8ffe0'), 'a.txt'],
    ['image/gif', withNul('GIF89a'), 'a'],
    ['image/webp', withNul('RIFF\x10\0\0\0WEBPVP8 '), 'a'],
    ['audio/wav', withNul('RIFF\x10\0\0\0WAVE'), 'a'],
    ['audio/mpeg', hex('fffb9064'), 'a'],
    ['audio/mpeg', withNul('ID3\x04'), 'a'],
    ['video/mp4', withNul('\0\0\0\x18ftypisom'), 'a'],
    ['audio/mp4', withNul('\0\0\0\x18ftypM4A '), 'a'],
    ['application/pdf', Buffer.from('%PDF-1.4\n'), 'a'],
    ['application/x-ipynb+json', Buffer.from('{"cells":[]}'), 'Note.IPYNB'],
    ['application/zip', hex('504b0304 14'), 'a.zip'],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', hex('504b0304'), 'a.DOCX'],
    ['application/gzip', hex('1f8b08'), 'a'],
    ['application/x-tar', Buffer.concat([Buffer.alloc(257), Buffer.from('ustar')]), 'a'],
    ['application/vnd.sqlite3', withNul('SQLite format 3'), 'a'],
  ])('recognises %s', (mimeType, bytes, path) => {
    expect(sniffMedia(bytes, path)).toBe(mimeType);
  });

  it.each([
    ['text', Buffer.from('hello'), 'a.txt'],
    ['an empty file', Buffer.from(''), 'a.png'],
    ['UTF-16, which others call an mp3', Buffer.from('\ufeffhello', 'utf16le'), 'a.txt'],
    ['prose that begins like a bitmap', Buffer.from('BMW is a car'), 'a.txt'],
    ['prose that begins like a GIF', Buffer.from('GIF89a is a format'), 'a.txt'],
    ['prose that begins like an mp3', Buffer.from('ID3 tags'), 'a.txt'],
    ['prose that begins like a program', Buffer.from('MZ'), 'a.txt'],
    ['an unknown binary', Buffer.from([0, 1, 2]), 'a.bin'],
  ])('returns undefined for %s', (_what, bytes, path) => {
    expect(sniffMedia(bytes, path)).toBeUndefined();
  });
});
