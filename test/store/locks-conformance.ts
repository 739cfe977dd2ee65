import { describe, expect, it, onTestFinished } from 'vitest';
import type { Locks } from '../../src/lock/locks.ts';
import { scratch } from '../support/tree.ts';

/**
 * Defines the tests that every implementation of locks must pass. Each call of `open` returns
 * another object that can hold locks; all objects of one `home` compete for the same locks.
 */
export function locksConformance(
  name: string,
  open: (home: string, holder: string) => Locks | Promise<Locks>,
): void {
  const holders = async (): Promise<readonly [Locks, Locks]> => {
    const { home } = scratch();
    const both = [await open(home, 'one'), await open(home, 'two')] as const;
    onTestFinished(() => {
      for (const locks of both) locks.close();
    });
    return both;
  };

  describe(`${name} keep the contract of locks:`, () => {
    it('a key has one holder at a time, and is free after its release', async () => {
      const [one, two] = await holders();
      const release = await one.acquire(['/w/a'], 0);
      expect(await two.acquire(['/w/a'], 0)).toBeUndefined();
      (await two.acquire(['/w/b'], 0))?.();
      release?.();
      expect(await two.acquire(['/w/a'], 0)).toBeTypeOf('function');
    });

    it('a waiting holder gets the key when it is released', async () => {
      const [one, two] = await holders();
      const release = await one.acquire(['/w/a'], 0);
      const waiting = two.acquire(['/w/a'], 30_000);
      release?.();
      expect(await waiting).toBeTypeOf('function');
    });

    it('if one of several keys cannot be locked, none is', async () => {
      const [one, two] = await holders();
      await one.acquire(['/w/b'], 0);
      expect(await two.acquire(['/w/a', '/w/b', '/w/c'], 0)).toBeUndefined();
      expect(await one.acquire(['/w/a', '/w/c'], 0)).toBeTypeOf('function');
    });

    it('a folder can be locked only if no path in it is, and then no path in it can be locked', async () => {
      const [one, two] = await holders();
      const files = [await one.acquire(['/w/d/a'], 0), await two.acquire(['/w/d/b'], 0)];
      expect(files, 'two files of one folder').toEqual([expect.any(Function), expect.any(Function)]);
      expect([await one.acquire(['/w/d'], 0), await two.acquire(['/w'], 0)]).toEqual([undefined, undefined]);
      for (const release of files) release?.();
      const folder = await two.acquire(['/w/d'], 0);
      expect(await one.acquire(['/w/d/e/a'], 0), 'a file in it').toBeUndefined();
      const beside = await one.acquire(['/w/f', '/w/dd'], 0);
      expect(beside, 'files beside it').toBeTypeOf('function');
      for (const release of [folder, beside]) release?.();
      (await one.acquire(['/w/d/e/a', '/w/d'], 0))?.();
    });

    it("several changes of one holder share the folder's lock, which the last release frees", async () => {
      const [one, two] = await holders();
      const first = await one.acquire(['/w/a'], 0);
      const second = await one.acquire(['/w/b'], 0);
      first?.();
      expect(await two.acquire(['/w'], 0)).toBeUndefined();
      second?.();
      (await two.acquire(['/w'], 0))?.();
    });

    it('batches that name the same keys in another order cannot deadlock', async () => {
      const [one, two] = await holders();
      const batches = Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? (['a', 'b', 'c'] as const) : (['c', 'b', 'a'] as const),
      );
      const done = await Promise.all(
        batches.map(async (keys, index) => {
          const release = await (index % 3 === 0 ? one : two).acquire(keys, 30_000);
          await Promise.resolve();
          release?.();
          return release !== undefined;
        }),
      );
      expect(done.every(Boolean)).toBe(true);
    });
  });
}
