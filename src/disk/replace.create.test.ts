import { lstatSync, mkdirSync, renameSync, rmdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from '../../test/support/disk.ts';
import { strongestGuarantee } from '../workspace/pinned.ts';
import { fingerprintOf, stampOf } from './read.ts';
import { create } from './replace.ts';

describe('create', () => {
  it.each<[string, string]>([
    ['a file', 'text'],
    ['an empty file', ''],
    ['a large file', 'x'.repeat((1 << 20) + 1)],
  ])('creates %s and reports it', async (_what, text) => {
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
  ])('does not replace %s that took the name meanwhile', async (_what, make) => {
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

  it('creates the target of a dangling link inside the workspace', async () => {
    const disk = bench(['d/', 'l => d/new']);
    await create(disk.context, disk.place('l'), { bytes: Buffer.from('text') });
    expect([disk.text('d/new'), disk.names('d')]).toEqual(['text', ['new']]);
  });

  it.each([0o600, 0o755, 0o444])('sets the mode %o, regardless of the umask', async (mode) => {
    const disk = bench([]);
    const done = await create(disk.context, disk.place('new'), { bytes: Buffer.from('x'), mode });
    expect(done).toMatchObject({ ok: true, mode });
    expect(statSync(join(disk.root, 'new')).mode & 0o7777).toBe(mode);
  });

  it('never sets the setuid bit', async () => {
    const disk = bench([]);
    await create(disk.context, disk.place('new'), { bytes: Buffer.from('x'), mode: 0o6755 });
    expect(statSync(join(disk.root, 'new')).mode & 0o7777).toBe(0o755);
  });

  it.skipIf(strongestGuarantee() !== 'walk')(
    'creates the file in the located folder, even if the folder was moved',
    async () => {
      const disk = bench(['d/']);
      const place = disk.place('d/new');
      renameSync(join(disk.root, 'd'), join(disk.root, 'e'));
      symlinkSync(disk.outside, join(disk.root, 'd'));
      expect(await create(disk.context, place, { bytes: Buffer.from('x') })).toMatchObject({ ok: true });
      expect(disk.names('e')).toEqual(['new']);
    },
  );

  it('throws a fault if the folder was deleted', async () => {
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
