import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import fs, { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { locksConformance } from '../../test/store/locks-conformance.ts';
import { scratch } from '../../test/support/tree.ts';
import { WatchedChild } from '../../test/support/watched-child.ts';
import { LocalLocks, openOwnerLock, openRangeLock, slotsOf } from './locks.ts';

const child = join(import.meta.dirname, '../../test/children/lock-child.mjs');

function openLocks(home: string, use: 'owner' | undefined, owner = `${process.pid}`): LocalLocks {
  const isAlive = (id: string): boolean => {
    try {
      return process.kill(Number.parseInt(id, 10), 0);
    } catch {
      return false;
    }
  };
  return new LocalLocks({ home, owner, isAlive, ...(use === undefined ? {} : { use }) });
}

/** Waits for a message of a child. */
function message(process: ChildProcess): Promise<unknown> {
  return new WatchedChild(process).whileRunning(once(process, 'message'));
}

/** Lets three processes add 200 each to one counter, concurrently. */
async function countTogether(home: string, kind: string): Promise<void> {
  const children = [1, 2, 3].map(() => fork(child, [home, kind, 'count', '200'], { stdio: 'pipe' }));
  await Promise.all(children.map(message));
  for (const process of children) process.send('go');
  await Promise.all(children.map((process) => once(process, 'exit')));
}

describe.each([undefined, 'owner' as const])('Locks (%s)', (use) => {
  locksConformance(`locks of one machine (${use ?? 'kernel'})`, (home, holder) =>
    openLocks(home, use, `${process.pid}-${holder}`),
  );

  it('can be released and closed after the state folder was deleted', async () => {
    const { home } = scratch();
    const locks = openLocks(home, use);
    const release = (await locks.acquire(['/w/a'], 100)) ?? expect.unreachable();
    rmSync(home, { recursive: true });
    release();
    locks.close();
  });

  it('returns undefined if a key cannot be locked in time', async () => {
    const { home } = scratch();
    const locks = openLocks(home, use);
    const holder = fork(child, [home, use ?? 'range', 'hold'], { stdio: 'pipe' });
    await message(holder);
    expect(await locks.acquire(['k'], 30)).toBeUndefined();
    const free = await locks.acquire(['other'], 30);
    expect(free).toBeTypeOf('function');
    free?.();
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const release = await locks.acquire(['k'], 2000);
    expect(release, 'what a killed process held is free').toBeTypeOf('function');
    release?.();
    locks.close();
  });

  it('lets a request wait past its timeout while earlier requests keep finishing', async () => {
    const locks = openLocks(scratch().home, use);
    const requests = Array.from({ length: 16 }, async () => {
      const release = await locks.acquire(['/w/a'], 1000);
      await sleep(release === undefined ? 0 : 100);
      release?.();
      return release !== undefined;
    });
    expect((await Promise.all(requests)).filter((isHeld) => !isHeld)).toEqual([]);
    locks.close();
  });

  it('lets requests wait at the same time, not one after the other, if the lock is never released', async () => {
    const locks = openLocks(scratch().home, use);
    const release = await locks.acquire(['/w/a'], 0);
    const ended: string[] = [];
    const wait = async (name: string, ms: number): Promise<void> => {
      expect(await locks.acquire(['/w/a'], ms)).toBeUndefined();
      ended.push(name);
    };
    await Promise.all([wait('long', 1000), ...Array.from({ length: 16 }, () => wait('short', 200))]);
    expect(ended.at(-1)).toBe('long');
    release?.();
    locks.close();
  });

  it('excludes processes from each other: no increment of a shared counter is lost', async () => {
    const { home } = scratch();
    writeFileSync(join(home, 'counter'), '0');
    await countTogether(home, use ?? 'range');
    expect(readFileSync(join(home, 'counter'), 'utf8')).toBe('600');
  });

  it('(control) loses increments without the lock', async () => {
    const { home } = scratch();
    writeFileSync(join(home, 'counter'), '0');
    await countTogether(home, 'none');
    expect(readFileSync(join(home, 'counter'), 'utf8')).not.toBe('600');
  });
});

describe('locks by files', () => {
  it('of a dead process pass to one process, even if three find it dead at the same moment', () => {
    const folder = join(scratch().home, 'locks');
    const open = (owner: string, isAlive: () => boolean) =>
      openOwnerLock(folder, owner, (id) => id !== 'dead' || isAlive());
    const [dead, two, three] = ['dead', 'two', 'three'].map((owner) => open(owner, () => false));
    // When the first process finds that the lock's owner is dead, the second process takes the
    // lock. After every later step of the first process, the third one tries to take the lock.
    const holders = new Set<string>();
    const first = open('one', () => {
      two?.tryAcquire(7);
      if (two?.tryAcquire(7)) holders.add('two');
      return false;
    });
    const { renameSync, unlinkSync } = fs;
    const restore = (): void => {
      Object.assign(fs, { renameSync, unlinkSync });
      syncBuiltinESMExports();
    };
    const thenThree =
      <T extends unknown[]>(step: (...args: T) => void) =>
      (...args: T): void => {
        step(...args);
        restore();
        if (holders.size > 0 && three?.tryAcquire(7)) holders.add('three');
        patch();
      };
    const patch = (): void => {
      Object.assign(fs, { renameSync: thenThree(renameSync), unlinkSync: thenThree(unlinkSync) });
      syncBuiltinESMExports();
    };
    onTestFinished(restore);
    dead?.tryAcquire(7);
    patch();
    if (first.tryAcquire(7)) holders.add('one');
    expect([...holders]).toEqual(['two']);
  });

  it('can be taken if a process died while it removed the lock of a dead process', () => {
    const folder = join(scratch().home, 'locks');
    const open = (owner: string) => openOwnerLock(folder, owner, (id) => !id.startsWith('dead'));
    open('dead 1').tryAcquire(7);
    open('dead 2');
    fs.linkSync(join(folder, 'dead 2.owner'), join(folder, '7.evict'));
    const lock = open('one');
    expect([1, 2, 3].map(() => lock.tryAcquire(7))).toContain(true);
  });
});

describe('the order of locks', () => {
  it('has folders before their contents, so that a request that waits for a folder holds nothing in it', () => {
    const folders = Array.from({ length: 20 }, (_, index) => `/w/n${index}`);
    for (const folder of folders) {
      const [, outer, inner] = slotsOf([`${folder}/in/a.txt`]).map(([slot]) => slot);
      expect([outer, inner]).toEqual([slotsOf([folder]).at(-1)?.[0], slotsOf([`${folder}/in`]).at(-1)?.[0]]);
    }
  });
});

describe.skipIf(openRangeLock('/dev/null') === undefined)('locks of the kernel', () => {
  it('of many files are in several lists, because the kernel walks the list of a file for each new lock', async () => {
    const { home } = scratch();
    const locks = openLocks(home, undefined);
    const keys = Array.from({ length: 2000 }, (_, index) => `/w/f${index}`);
    const release = await locks.acquire(keys, 0);
    const folder = join(home, 'lock-ranges');
    const inodes = readdirSync(folder).map((name) => statSync(join(folder, name)).ino);
    let lists: readonly number[] = [];
    const count = (): number => {
      const held = readFileSync('/proc/locks', 'utf8').split('\n');
      lists = inodes.map((ino) => held.filter((line) => line.includes(`:${ino} `)).length);
      return lists.reduce((sum, each) => sum + each, 0);
    };
    // Expect a lock for each file and one for the folder `/w`. Poll, because the kernel omits lines
    // of `/proc/locks` while other programs release locks. Accept more locks: a file on another
    // disk may have the same inode number.
    await expect.poll(count).toBeGreaterThanOrEqual(2001);
    expect(Math.max(...lists)).toBeLessThan(400);
    release?.();
    locks.close();
  });
});
