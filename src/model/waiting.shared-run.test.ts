import { describe, expect, it } from 'vitest';
import { SharedRun } from './waiting.ts';

/** Work that the test ends by hand: each call of `work` adds to `ends` the function that ends this call. */
function manual(): { readonly work: () => Promise<void>; readonly ends: ((error?: Error) => void)[] } {
  const ends: ((error?: Error) => void)[] = [];
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      ends.push((error) => (error === undefined ? resolve() : reject(error)));
    });
  return { work, ends };
}

describe('SharedRun', () => {
  it('serves callers that arrive during a run with one further run', async () => {
    const { work, ends } = manual();
    const shared = new SharedRun();
    const first = shared.run(work);
    const later = [shared.run(work), shared.run(work), shared.run(work)];
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await first;
    await Promise.resolve();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await Promise.all(later);
    expect([ends.length, shared.isIdle]).toEqual([2, true]);
  });

  it('rejects only the callers of the run that failed', async () => {
    const { work, ends } = manual();
    const shared = new SharedRun();
    const first = shared.run(work);
    const second = shared.run(work);
    ends[0]?.(new Error('the disk failed'));
    await expect(first).rejects.toThrow('the disk failed');
    ends[1]?.();
    await second;
  });
});
