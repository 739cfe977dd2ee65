import { join } from 'node:path';
import { expect, it } from 'vitest';
import { later } from '../../test/store/images-conformance.ts';
import { ROOT, readEntry } from '../../test/store/samples.ts';
import { desk, ok, refusal } from '../../test/support/desk.ts';
import { keptHashes } from '../../test/support/kept.ts';
import { scratch } from '../../test/support/tree.ts';
import { fingerprintOf } from '../disk/read.ts';
import { openState } from '../store/open-state.ts';
import { purgeImages, storedUsage } from './gc.ts';

it('purges every image of one file, before-images and shown bytes alike, and journals it', async () => {
  const t = await desk({ session: 'ann' });
  await t.put('private.txt', 'key=1\n');
  await t.put('other.txt', 'other\n');
  for (const name of ['private.txt', 'other.txt']) {
    await ok(t.session.read(name));
    await ok(t.session.write(name, `${name} two\n`));
    await ok(t.session.write(name, `${name} three\n`));
  }
  // What was only read is stored with the next record.
  await ok(t.session.list('.'));
  await expect.poll(() => keptHashes(t.home).then((kept) => kept.length)).toBe(6);
  const state = await openState(`sqlite:${join(t.home, 'lookfirst.db')}`, {
    home: t.home,
    durability: 'none',
  });
  const request = { key: join(t.root, 'private.txt'), nowMs: 5, dryRun: false };
  const planned = await purgeImages(state, { ...request, dryRun: true });
  expect(planned.count).toBe(3);
  for (const key of [t.root, '/'])
    expect(await purgeImages(state, { ...request, key, dryRun: true })).toMatchObject({ count: 6 });
  expect(await purgeImages(state, request)).toMatchObject({ count: planned.count });
  expect(await keptHashes(t.home)).toHaveLength(6 - planned.count);
  expect(await state.store.entries({ key: request.key, kinds: ['notice'] })).toMatchObject([
    { text: expect.stringContaining('purged'), atMs: 5 },
  ]);
  await state.close();
  await ok(t.session.undo({}));
  expect(t.text('other.txt')).toBe('other.txt two\n');
  await refusal(t.session.undo({ path: 'private.txt' }), 'NOT_FOUND');
});

it('purges the images of a folder, including those that only a closed session was shown', async () => {
  const { home } = scratch();
  const { store, images, ...state } = await openState(`sqlite:${join(home, 'lookfirst.db')}`, {
    home,
    durability: 'none',
  });
  const shown = ['private/deep/key.txt', 'private/key.txt', 'private-not/key.txt'];
  for (const path of shown) {
    const bytes = Buffer.from(path);
    const fingerprint = fingerprintOf(bytes);
    await images.keepBytes(bytes, fingerprint);
    await store.record({ entries: [readEntry({ path, sha256: fingerprint.sha256 })] });
  }
  await later();
  const request = { key: `${ROOT}/private`, nowMs: 5, dryRun: false };
  expect(await purgeImages({ store, images }, request)).toMatchObject({ count: 2 });
  expect(await storedUsage(images)).toMatchObject({ count: 1 });
  await state.close();
});

it('purges only the images of secret files', async () => {
  const t = await desk({ session: 'ann' });
  await t.put('.env', 'KEY=1\n');
  await t.put('other.txt', 'other\n');
  await ok(t.session.append('.env', 'TWO=2\n'));
  await ok(t.session.read('other.txt'));
  await ok(t.session.write('other.txt', 'two\n'));
  await ok(t.session.list('.'));
  await expect.poll(() => keptHashes(t.home).then((kept) => kept.length)).toBe(4);
  const state = await openState(`sqlite:${join(t.home, 'lookfirst.db')}`, {
    home: t.home,
    durability: 'none',
  });
  expect(await purgeImages(state, { key: undefined, nowMs: 5, dryRun: false })).toMatchObject({ count: 2 });
  expect(await keptHashes(t.home)).toHaveLength(2);
  await state.close();
  await ok(t.session.undo({ path: 'other.txt' }));
  expect(t.text('other.txt')).toBe('other\n');
});
