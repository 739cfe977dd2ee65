import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { openTranscript } from './transcript-file.ts';

describe('openTranscript', () => {
  it('returns all bytes in chunks, and the size', async () => {
    const file = join(scratch().root, 'chat.jsonl');
    const bytes = Buffer.alloc(3 * 1024 * 1024, 'abc\n');
    writeFileSync(file, bytes);
    const { size, chunks } = openTranscript(file);
    const read: Uint8Array[] = [];
    for await (const chunk of chunks) read.push(chunk);
    expect(size).toBe(bytes.byteLength);
    expect(read.length).toBeGreaterThan(1);
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
  });

  it.each([
    ['missing', 'nothing.jsonl', 'there is no such file'],
    ['a folder', '.', 'is not a file'],
  ])('reports that the file is %s', (_what, name, words) => {
    expect(() => openTranscript(join(scratch().root, name))).toThrow(
      expect.objectContaining({ code: 'IO_FAILED', message: expect.stringContaining(words) }),
    );
  });
});
