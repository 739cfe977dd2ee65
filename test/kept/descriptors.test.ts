import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { strongestGuarantee } from '../../src/workspace/pinned.ts';
import { failMany, openDescriptors } from '../support/descriptors.ts';
import { bench } from '../support/disk.ts';

describe.skipIf(process.platform !== 'linux')('open descriptors', () => {
  it('do not increase by 1,000 failing operations', async () => {
    const { before, after, failed } = await failMany(1_000);
    expect(failed).toBe(1_000);
    expect(after).toBeLessThanOrEqual(before);
  });

  it.skipIf(strongestGuarantee() !== 'walk')(
    'of roots, places and our own files are not inherited by a child process',
    () => {
      const inherited = (): string => execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' });
      const before = inherited();
      const count = openDescriptors();
      const disk = bench(['d/e/f: text']);
      disk.place('d/e/f');
      expect(openDescriptors()).toBeGreaterThanOrEqual(count + 3);
      expect(inherited()).toBe(before);
    },
  );
});
