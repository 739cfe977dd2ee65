import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { strongestGuarantee } from '../../src/workspace/pinned.ts';
import { failMany, openAround, openDescriptors } from '../support/descriptors.ts';
import { bench } from '../support/disk.ts';
import { scratch } from '../support/tree.ts';

describe.skipIf(process.platform !== 'linux')('open descriptors', () => {
  it('do not increase by 1,000 failing operations', async () => {
    const { before, after, failed } = await failMany(1_000);
    expect(failed).toBe(1_000);
    expect(after).toBeLessThanOrEqual(before);
  });

  it.each(['images', 'store'] as const)('of an undo that throws are closed: the %s fail', async (failing) => {
    const { root, home } = scratch();
    const sessions = await Sessions.open({ roots: [root], home });
    const session = await sessions.session('s');
    for (const name of ['a', 'd/b', 'd/e/c']) await session.write(name, 'one\n');
    await session.move('d/e', 'e');
    await session.list('d', { depth: 5 });
    expect(await session.delete('d', { recursive: true })).toMatchObject({ ok: true });
    const open = openAround(root);
    const broken = (): never => {
      throw new Error('injected');
    };
    if (failing === 'images') Object.assign(sessions.world.images, { read: broken, chunks: broken });
    else Object.assign(sessions.world.store, { record: broken });
    for (let tries = 0; tries < 3; tries += 1) await expect(session.undo({ sinceMs: 0 })).rejects.toThrow();
    expect(openAround(root)).toBe(open);
    await sessions.close().catch(() => undefined);
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
