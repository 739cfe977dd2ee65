import { describe, expect, it } from 'vitest';
import { KeyedMutex } from './waiting.ts';

describe('KeyedMutex', () => {
  it('grants one exclusive lock per key at a time, in the order of requests', async () => {
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

  it('grants shared locks together, but not before an earlier exclusive request', async () => {
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

  it('drops a request that times out, which does not delay later requests', async () => {
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
});
