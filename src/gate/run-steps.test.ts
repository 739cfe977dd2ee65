import { expect, it } from 'vitest';
import { bench } from '../../test/support/disk.ts';
import { batchContext } from '../disk/context.ts';
import { conflict } from '../disk/replace.ts';
import { LocalLocks } from '../lock/locks.ts';
import { runSteps } from './run-steps.ts';
import type { Step } from './step.ts';

it.each(['refused', 'failed'] as const)(
  'removes the temporary files of a %s batch, even if one of them cannot be removed at first',
  async (end) => {
    const disk = bench(['a.txt', 'b.txt', 'c.txt']);
    const events: string[] = [];
    const step = (name: string): Step => ({
      action: 'undo',
      path: disk.place(name).path,
      effects: [],
      stage: async () => {},
      unstage: () => {
        if (name === 'b.txt') throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
        events.push(name);
      },
      run: async () => {
        if (end === 'failed') throw Object.assign(new Error('bad disk'), { code: 'EIO' });
        return conflict('changed');
      },
      revert: async () => true,
      close: () => {},
    });
    const locks = new LocalLocks({ home: disk.home, owner: 'us', isAlive: () => true });
    const steps = disk.names().map(step);
    const freeReserve = (): void => void events.push('descriptors freed');
    const ran = runSteps({ disk: batchContext(disk.context), locks }, { steps, freeReserve }, []);
    if (end === 'failed') await expect(ran).rejects.toMatchObject({ code: 'IO_FAILED', reason: 'EIO' });
    else expect(await ran).toMatchObject({ code: 'STALE' });
    expect(events).toEqual(['descriptors freed', 'c.txt', 'a.txt']);
    locks.close();
  },
);
