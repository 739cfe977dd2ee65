import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../test/store/images-conformance.ts';
import { scratch } from '../../test/support/tree.ts';
import { openState } from './open-state.ts';

/** Too large for a row of the database. */
const LARGE = Buffer.alloc(200_000, 'large');

describe('openState', () => {
  it.each([
    ['memory:', false],
    ['sqlite:HOME/lookfirst.db', true],
  ])('%s opens store, images, locks and owner together', async (name, shared) => {
    const { home } = scratch();
    const url = name.replace('HOME', home);
    const state = await openState(url, { home, durability: 'none' });
    expect(state.store.url).toBe(url);
    expect(state.shared).toBe(shared);
    await state.images.keepBytes(Buffer.from('a'), fingerprintOf('a'));
    await state.images.keepBytes(LARGE, fingerprintOf(LARGE));
    expect(existsSync(join(home, 'blobs'))).toBe(shared);
    expect(await state.owner.isAlive(state.owner.id)).toBe(true);
    expect(state.owner.isTagAlive(state.owner.tag)).toBe(true);
    expect(state.owner.isTagAlive(state.owner.tag.replace('+', '+1'))).toBe(false);
    const release = await state.locks.acquire(['/w/a'], 0);
    const other = await openState(url, { home, durability: 'none' });
    expect(other.owner.tag).not.toBe(state.owner.tag);
    expect(await other.locks.acquire(['/w/a'], 0)).toBeUndefined();
    expect(other.revisionOf(fingerprintOf('a'))).toBe(state.revisionOf(fingerprintOf('a')));
    release?.();
    await other.close();
    await state.close();
    await expect(state.store.pending()).rejects.toMatchObject({ code: 'MISUSE' });
  });

  it('refuses an unknown URL, and creates nothing', async () => {
    const { home } = scratch();
    await expect(openState('mysql://x', { home, durability: 'none' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    expect(existsSync(join(home, 'locks'))).toBe(false);
  });
});
