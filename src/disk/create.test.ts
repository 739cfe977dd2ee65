import { lstatSync, mkdirSync, renameSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from '../../test/support/disk.ts';
import { strongestGuarantee } from '../workspace/pinned.ts';
import { create } from './create.ts';
import { fingerprintOf, stampOf } from './read.ts';

describe('create', () => {
  it.each<[string, string]>([
    ['a file', 'text'],
    ['an empty file', ''],
    ['a large file', 'x'.repeat((1 << 20) + 1)],
  ])('makes %s and says what is there', async (_what, text) => {
    const disk = bench([], { durability: 'full' });
    const bytes = Buffer.from(text);
    const done = await create(disk.context, disk.place('new'), { bytes });
    expect(done).toEqual({
      ok: true,
      fingerprint: fingerprintOf(bytes),
      stamp: stampOf(lstatSync(join(disk.root, 'new'), { bigint: true })),
      racy: expect.any(Boolean),
      mode: 0o666 & ~process.umask(),
      notices: [],
    });
    expect([disk.text('new') === text, disk.names()]).toEqual([true, ['new']]);
  });

  it.each<[string, (path: string) => void]>([
    ['a file', (path) => writeFileSync(path, 'theirs')],
    ['an empty file', (path) => writeFileSync(path, '')],
    ['a folder', (path) => mkdirSync(path)],
    ['a link that leads nowhere', (path) => symlinkSync('nowhere', path)],
    ['a link to the outside', (path) => symlinkSync('../outside/new', path)],
  ])('leaves %s alone that came under the name meanwhile', async (_what, make) => {
    const disk: Bench = bench([], {
      trace: (step) => {
        if (step === 'publish') make(join(disk.root, 'new'));
      },
    });
    const place = disk.place('new');
    const done = await create(disk.context, place, { bytes: Buffer.from('ours') });
    expect(done).toEqual({ ok: false, reason: 'exists', retained: [] });
    expect(disk.names()).toEqual(['new']);
    expect(lstatSync(join(disk.outside, 'new'), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('makes the target of a link that leads nowhere inside', async () => {
    const disk = bench(['d/', 'l => d/new']);
    await create(disk.context, disk.place('l'), { bytes: Buffer.from('text') });
    expect([disk.text('d/new'), disk.names('d')]).toEqual(['text', ['new']]);
  });

  it.each([0o600, 0o755, 0o444])('gives it the mode %o, whatever the umask', async (mode) => {
    const disk = bench([]);
    const done = await create(disk.context, disk.place('new'), { bytes: Buffer.from('x'), mode });
    expect(done).toMatchObject({ ok: true, mode });
    expect(statSync(join(disk.root, 'new')).mode & 0o7777).toBe(mode);
  });

  it('never makes it setuid', async () => {
    const disk = bench([]);
    await create(disk.context, disk.place('new'), { bytes: Buffer.from('x'), mode: 0o6755 });
    expect(statSync(join(disk.root, 'new')).mode & 0o7777).toBe(0o755);
  });

  it.skipIf(strongestGuarantee() !== 'walk')(
    'works in the folder that was located, wherever that is now',
    async () => {
      const disk = bench(['d/']);
      const place = disk.place('d/new');
      renameSync(join(disk.root, 'd'), join(disk.root, 'e'));
      symlinkSync(disk.outside, join(disk.root, 'd'));
      expect(await create(disk.context, place, { bytes: Buffer.from('x') })).toMatchObject({ ok: true });
      expect(disk.names('e')).toEqual(['new']);
    },
  );

  it('is a fault in a folder that was deleted', async () => {
    const disk = bench(['d/']);
    const place = disk.place('d/new');
    rmdirSync(join(disk.root, 'd'));
    await expect(create(disk.context, place, { bytes: Buffer.from('x') })).rejects.toMatchObject({
      code: 'IO_FAILED',
      path: 'd/new',
      reason: 'ENOENT',
    });
  });
});
