import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadNative } from '../../src/disk/context.ts';
import type { Ended } from '../children/kernel-changer.ts';
import { AFTER, BEFORE, CHANGES, type ChangeName } from '../support/changes.ts';
import { startChild } from '../support/child.ts';
import { giveAway, ORDINARY } from '../support/nobody.ts';
import { IN_MEMORY, makeTree, type Scratch, scratch, treeOf } from '../support/tree.ts';

const probe = spawnSync('strace', ['-f', '-o', '/dev/null', '-e', 'inject=link:error=EPERM', 'true']);
const injector = probe.status === 0;

interface Run {
  readonly places: Scratch;
  readonly ended: Ended;
}

/**
 * Makes changes in a process whose system calls fail as `inject` (an option of strace) says.
 * Returns for each change whether it was made, or its error.
 */
async function under(
  inject: string,
  names: readonly ChangeName[],
  options: { commit: 'exchange' | 'claim'; durability: 'full' | 'none' },
): Promise<Run[]> {
  const runs = names.map((name) => {
    const places = scratch(IN_MEMORY);
    makeTree(places, BEFORE);
    return { places, job: { root: places.root, home: places.home, name, ...options } };
  });
  const jobs = runs.map(({ job }) => job);
  const child = await startChild('kernel-changer', jobs, [
    // Use one thread for syncs. strace counts calls per thread, so `when` in `inject` would not
    // count all syncs of several threads.
    'env',
    'UV_THREADPOOL_SIZE=1',
    'strace',
    '-f',
    '-o',
    '/dev/null',
    '-e',
    `inject=${inject}`,
  ]);
  const done: Run[] = [];
  for (const { places } of runs) done.push({ places, ended: await child.message<Ended>() });
  return done;
}

describe.skipIf(!injector)('on a file system without hard links (needs strace)', () => {
  it.each(['exchange', 'claim'] as const)('every change works by %s', async (commit) => {
    const runs = await under('link,linkat:error=EPERM', CHANGES, { commit, durability: 'none' });
    for (const [index, { places, ended }] of runs.entries()) {
      const name = CHANGES[index] ?? 'create';
      expect([name, ended, treeOf(places.root)]).toEqual([name, { done: true }, [...AFTER[name]].sort()]);
    }
  });
});

describe.skipIf(!injector || loadNative() === undefined)(
  'on a file system without exchange (needs strace)',
  () => {
    it.each(['EINVAL', 'ENOSYS', 'EOPNOTSUPP'])(
      'a replacement falls back to a claim if the exchange fails with %s',
      async (errno) => {
        const [run] = await under(`renameat2:error=${errno}`, ['replace'], {
          commit: 'exchange',
          durability: 'none',
        });
        expect([run?.ended, treeOf(run?.places.root ?? '')]).toEqual([
          { done: true },
          [...AFTER.replace].sort(),
        ]);
      },
    );

    it('any other error is a fault that leaves the old file', async () => {
      const [run] = await under('renameat2:error=EIO', ['replace'], {
        commit: 'exchange',
        durability: 'none',
      });
      expect(run?.ended).toMatchObject({ reason: 'EIO' });
      expect(treeOf(run?.places.root ?? '')).toEqual([...BEFORE].sort());
    });
  },
);

describe.skipIf(!injector)('on a device that fails to sync (needs strace)', () => {
  /** The number of syncs of each change: of the new file and of each folder. */
  const rows: readonly (readonly [ChangeName, 'exchange' | 'claim', number])[] = [
    ['create', 'claim', 2],
    ['replace', 'exchange', 2],
    ['replace', 'claim', 2],
    ['remove', 'claim', 1],
    ['move', 'claim', 2],
  ];
  it.each(rows)(
    '%s by %s is a fault at any of its syncs, and changes nothing',
    async (name, commit, count) => {
      const options = { commit, durability: 'full' } as const;
      for (let sync = 1; sync <= count; sync += 1) {
        const [run] = await under(`fsync:error=EIO:when=${sync}`, [name], options);
        expect([sync, run?.ended]).toMatchObject([sync, { reason: 'EIO' }]);
        expect([sync, treeOf(run?.places.root ?? '')]).toEqual([sync, [...BEFORE].sort()]);
      }
      const [run] = await under(`fsync:error=EIO:when=${count + 1}`, [name], options);
      expect(run?.ended).toEqual({ done: true });
    },
  );
});

describe('in a folder without write permission', () => {
  // Permissions do not stop root, so another user makes the change.
  it.skipIf(process.platform !== 'linux').each(CHANGES)(
    '%s is a fault that leaves no files behind',
    async (name) => {
      const places = scratch(IN_MEMORY);
      makeTree(places, BEFORE);
      const all = [
        places.base,
        ...readdirSync(places.base, { recursive: true }).map((one) => join(places.base, `${one}`)),
      ];
      giveAway(...all);
      chmodSync(places.root, 0o555);
      onTestFinished(() => chmodSync(places.root, 0o755));
      const job = { root: places.root, home: places.home, name, commit: 'claim', durability: 'none' };
      const child = await startChild('kernel-changer', [job], [], ORDINARY);
      expect(await child.message<Ended>()).toMatchObject({ reason: 'EACCES' });
      expect(treeOf(places.root)).toEqual([...BEFORE].sort());
      expect(readdirSync(join(places.root, 'other'))).toEqual([]);
    },
  );
});
