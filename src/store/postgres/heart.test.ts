import { expect, it } from 'vitest';
import type { PostgresConnection } from './connection.ts';
import { type Heart, LeasedLocks } from './heart.ts';
import { Names } from './names.ts';

it.each([
  ['/shared', '/shared/a.txt', true],
  ['/', '/a.txt', true],
  ['/shared', '/shared-not/a.txt', false],
])('the shared root %s: a change of %s needs a lease: %s', async (root, key, isLeased) => {
  const held: unknown[] = [];
  const locks = new LeasedLocks({
    local: {
      acquire: async () => () => undefined,
      close: () => undefined,
    },
    // The casts are safe: the locks use only these members.
    db: { call: async () => 1 } as unknown as PostgresConnection,
    heart: { hold: (lease: unknown) => held.push(lease), drop: () => undefined } as unknown as Heart,
    names: new Names('m'),
    owner: 'me',
    sharedRoots: [root],
  });
  (await locks.acquire([key], 1000))?.();
  expect(held).toHaveLength(isLeased ? 1 : 0);
});
