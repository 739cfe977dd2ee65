import { describe, expect, it } from 'vitest';
import { RipgrepRecords } from './ripgrep-records.ts';

function takeAll(records: RipgrepRecords, chunks: readonly Buffer[]): string[] {
  return chunks.flatMap((chunk) => records.take(chunk));
}

describe('records', () => {
  it('are the same however the stream is split into chunks', () => {
    const stream = Buffer.from('a\0üü\0\0long record\0');
    for (let size = 1; size <= stream.byteLength; size += 1) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < stream.byteLength; at += size) chunks.push(stream.subarray(at, at + size));
      expect(takeAll(new RipgrepRecords('\0'), chunks)).toEqual(['a', 'üü', '', 'long record']);
    }
  });

  it('that have not ended are not returned', () => {
    const records = new RipgrepRecords('\n');
    expect(records.take(Buffer.from('one\ntw'))).toEqual(['one']);
    expect(records.take(Buffer.from('o'))).toEqual([]);
    expect(records.take(Buffer.from('\n'))).toEqual(['two']);
  });

  it('over the limit are dropped and counted; later ones are not', () => {
    const records = new RipgrepRecords('\n', 8);
    const chunks = ['ab\n01234', '56789', '0123456789', 'xyz\ncd\n'].map((text) => Buffer.from(text));
    expect(takeAll(records, chunks)).toEqual(['ab', 'cd']);
    expect(records.dropped).toBe(1);
  });
});
