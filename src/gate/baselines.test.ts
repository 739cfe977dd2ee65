import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../disk/read.ts';
import { Baselines } from './baselines.ts';

const MB = 1 << 20;
const images = {
  has: async () => false,
  read: async () => expect.unreachable(),
  keepSoon: () => {},
};

describe('the bytes in memory', () => {
  it('are those used last, up to a limit', () => {
    const baselines = new Baselines(images, { share: false });
    const files = Array.from({ length: 24 }, (_, n) => Buffer.alloc(4 * MB, n));
    const [used = expect.unreachable(), ...others] = files.map((bytes) => ({
      bytes,
      fingerprint: fingerprintOf(bytes),
    }));
    for (const { bytes, fingerprint } of others) {
      baselines.remember(used.fingerprint, used.bytes);
      baselines.remember(fingerprint, bytes);
    }
    const kept = others.filter(({ fingerprint }) => baselines.peek(fingerprint) !== undefined);
    expect(baselines.peek(used.fingerprint)).toBe(used.bytes);
    expect(kept).toEqual(others.slice(-kept.length));
    // Each file has 4 MB. The cache holds at least 32 MB (half of its limit) and at most 64 MB.
    expect(kept.length).toBeGreaterThanOrEqual(7);
    expect(kept.length).toBeLessThanOrEqual(16);
  });
});

describe('a page of a file', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const bytes = Buffer.from(`one\ntwo\nkey = ${token}\nfour\n`);
  const fingerprint = fingerprintOf(bytes);
  const [before, secret] = [bytes.indexOf('key'), bytes.indexOf('four')];

  it.each([
    ['before a secret holds none', [before], [false]],
    ['up to a secret may hold one', [secret], [true]],
    ['after a page without secrets is searched as well', [before, secret], [false, true]],
    ['before a secret that was found counts as its file', [secret, before], [true, true]],
    ['that was searched holds none later', [before, 4, before], [false, false, false]],
    ['of the whole file may hold one', [before, bytes.length], [false, true]],
  ])('%s', (_, ends, expected) => {
    const baselines = new Baselines(images, { share: false });
    expect(ends.map((end) => baselines.mayHoldSecret(fingerprint, bytes, end))).toEqual(expected);
  });
});
