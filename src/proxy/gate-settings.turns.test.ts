import { describe, expect, it } from 'vitest';
import { ProxyTurns } from './gate-settings.ts';

/** Returns a function that takes a turn at some files, and adds `name` to the log when the turn begins. */
function taker(turns: ProxyTurns, log: string[]) {
  return async (name: string, keys: string[], mode: 'together' | 'alone') => {
    const release = await turns.take(keys, mode);
    log.push(name);
    return release;
  };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('ProxyTurns', () => {
  it('lets readers share a file, and a writer follow when they are done', async () => {
    const log: string[] = [];
    const turns = new ProxyTurns();
    const take = taker(turns, log);
    const [one, two] = [await take('r1', ['a'], 'together'), await take('r2', ['a'], 'together')];
    const writing = take('w', ['a'], 'alone');
    await settle();
    expect(log).toEqual(['r1', 'r2']);
    one();
    await settle();
    expect(log).toEqual(['r1', 'r2']);
    two();
    await writing;
    expect(log).toEqual(['r1', 'r2', 'w']);
  });

  it('does not let later readers past a waiting writer', async () => {
    const log: string[] = [];
    const turns = new ProxyTurns();
    const take = taker(turns, log);
    const reading = await take('r1', ['a'], 'together');
    const writing = take('w', ['a'], 'alone');
    const later = take('r2', ['a'], 'together');
    reading();
    (await writing)();
    await later;
    expect(log).toEqual(['r1', 'w', 'r2']);
  });

  it('does not make calls for different files wait', async () => {
    const turns = new ProxyTurns();
    await turns.take(['a'], 'alone');
    expect(await turns.take(['b'], 'alone')).toBeTypeOf('function');
  });

  it('does not deadlock if calls need the same files in another order', async () => {
    const log: string[] = [];
    const turns = new ProxyTurns();
    const take = taker(turns, log);
    const calls = Array.from({ length: 40 }, async (_, n) => {
      const keys = n % 2 === 0 ? ['a', 'b', 'c'] : ['c', 'b', 'a'];
      const release = await take(String(n), keys, n % 3 === 0 ? 'together' : 'alone');
      await settle();
      release();
    });
    await Promise.all(calls);
    expect(log).toHaveLength(40);
  });

  it('treats a file named twice in one call as one file', async () => {
    const turns = new ProxyTurns();
    const release = await turns.take(['a', 'a'], 'alone');
    release();
    (await turns.take(['a', 'a'], 'together'))();
    expect(await turns.take(['a'], 'alone')).toBeTypeOf('function');
  });
});
