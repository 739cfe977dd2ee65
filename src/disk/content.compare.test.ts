import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holding } from '../../test/support/disk.ts';
import { scratch } from '../../test/support/tree.ts';
import { holds } from './content.ts';

const CHUNK = 1 << 18;
const long = 'x'.repeat(2 * CHUNK);

describe.each(['bytes', 'fingerprint'])('holds, by %s', (by) => {
  it.each<[string, string, string, boolean]>([
    ['the same', 'abc', 'abc', true],
    ['nothing and nothing', '', '', true],
    ['other bytes', 'abd', 'abc', false],
    ['a byte more', 'abcd', 'abc', false],
    ['a byte less', 'ab', 'abc', false],
    ['nothing instead of something', '', 'abc', false],
    ['something instead of nothing', 'abc', '', false],
    ['a whole number of chunks', long, long, true],
    ['another last byte', `${long.slice(1)}y`, long, false],
    ['another byte at the edge of a chunk', `${long.slice(0, CHUNK - 1)}y${long.slice(CHUNK)}`, long, false],
    ['one byte over a chunk', `${long}y`, `${long}y`, true],
    ['one byte under a chunk', long.slice(1), long.slice(1), true],
  ])('%s', (_what, found, expected, same) => {
    const file = join(scratch().root, 'f');
    writeFileSync(file, found);
    const { fingerprint, bytes } = holding(expected);
    const fd = openSync(file, 'r');
    expect(holds(fd, by === 'bytes' ? { fingerprint, bytes } : { fingerprint })).toBe(same);
    closeSync(fd);
  });
});
