import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { locksConformance } from '../../test/store/locks-conformance.ts';
import { scratch } from '../../test/support/tree.ts';
import { KeyedMutex, LocalLocks } from './locks.ts';

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

/** Three processes add 200 each to one counter, concurrently. */
async function countTogether(home: string, kind: string): Promise<void> {
  const children = [1, 2, 3].map(() => fork(child, [home, kind, 'count', '200'], { stdio: 'pipe' }));
  await Promise.all(children.map((process) => once(process, 'message')));
  for (const process of children) process.send('go');
  await Promise.all(children.map((process) => once(process, 'exit')));
}

describe('KeyedMutex', () => {
  it('lets one holder in at a time, in the order of asking, per key', async () => {
    const mutex = new KeyedMutex<string>();
    const order: string[] = [];
    const run = async (key: string, name: string): Promise<void> => {
      const release = await mutex.acquire(key, 'alone', 1000);
      order.push(`+${name}`);
      await Promise.resolve();
      order.push(`-${name}`);
      release?.();
    };
    await Promise.all([run('a', '1'), run('a', '2'), run('a', '3')]);
    expect(order).toEqual(['+1', '-1', '+2', '-2', '+3', '-3']);
  });

  it('lets those who share in side by side, but not past one who waits to be alone', async () => {
    const mutex = new KeyedMutex<string>();
    const order: string[] = [];
    const run = async (sharing: 'alone' | 'together', name: string): Promise<void> => {
      const release = await mutex.acquire('k', sharing, 1000);
      order.push(`+${name}`);
      await Promise.resolve();
      order.push(`-${name}`);
      release?.();
    };
    const first = [run('together', '1'), run('together', '2'), run('alone', '3'), run('together', '4')];
    await Promise.all(first);
    expect(order).toEqual(['+1', '+2', '-1', '-2', '+3', '-3', '+4', '-4']);
  });
});

it('a turn that does not come in time is given up, and holds up nobody behind it', async () => {
  const mutex = new KeyedMutex<string>();
  const first = await mutex.acquire('k', 'together', 1000);
  const [late, behind] = await Promise.all([
    mutex.acquire('k', 'alone', 1),
    mutex.acquire('k', 'together', 1000),
  ]);
  expect([late, behind]).toEqual([undefined, expect.any(Function)]);
  first?.();
  behind?.();
  expect(await mutex.acquire('k', 'alone', 1)).toBeTypeOf('function');
});

describe.each([undefined, 'owner' as const])('Locks (%s)', (use) => {
  locksConformance(`locks of one machine (${use ?? 'kernel'})`, (home, holder) =>
    openLocks(home, use, `${process.pid}-${holder}`),
  );

  it('answers undefined when a key cannot be had in time', async () => {
    const { home } = scratch();
    const locks = openLocks(home, use);
    const holder = fork(child, [home, use ?? 'range', 'hold'], { stdio: 'pipe' });
    await once(holder, 'message');
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

  it('excludes processes from each other: no increment of a shared counter is lost', async () => {
    const { home } = scratch();
    writeFileSync(join(home, 'counter'), '0');
    await countTogether(home, use ?? 'range');
    expect(readFileSync(join(home, 'counter'), 'utf8')).toBe('600');
  });

  it('does the same without the lock and loses some: the test can fail', async () => {
    const { home } = scratch();
    writeFileSync(join(home, 'counter'), '0');
    await countTogether(home, 'none');
    expect(readFileSync(join(home, 'counter'), 'utf8')).not.toBe('600');
  });
});
