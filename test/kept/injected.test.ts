import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../src/model/fault.ts';
import { BEFORE, CHANGES, type ChangeName, change } from '../support/changes.ts';
import { bench, type CommitStep } from '../support/disk.ts';
import { IN_MEMORY, scratch, treeOf } from '../support/tree.ts';

const KINDS = ['exchange', 'claim'] as const;
type Kind = (typeof KINDS)[number];

/** The steps that a change takes, recorded in a run without failures. */
async function stepsOf(name: ChangeName, commit: Kind): Promise<CommitStep[]> {
  const steps: CommitStep[] = [];
  const disk = bench(
    BEFORE,
    { commit, durability: 'full', trace: (step) => void steps.push(step) },
    scratch(IN_MEMORY),
  );
  expect(await change(disk.workspace, disk.context, name)).toBe(true);
  return [...new Set(steps)];
}

function noSpace(): Error {
  return Object.assign(new Error('ENOSPC: injected'), { code: 'ENOSPC' });
}

describe.each(CHANGES)('%s that fails', (name) => {
  it.each(KINDS)(
    'at any step by %s changes nothing, leaves no files behind and names its target',
    async (commit) => {
      const steps = await stepsOf(name, commit);
      expect(steps.length).toBeGreaterThan(0);
      for (const failing of steps) {
        const trace = (step: CommitStep): void => {
          if (step === failing) throw noSpace();
        };
        const disk = bench(BEFORE, { commit, durability: 'full', trace }, scratch(IN_MEMORY));
        const inode = lstatSync(join(disk.root, 'f')).ino;
        const fault = await change(disk.workspace, disk.context, name).catch((error: unknown) => error);
        expect([failing, treeOf(disk.root)]).toEqual([failing, [...BEFORE].sort()]);
        expect(lstatSync(join(disk.root, 'f')).ino).toBe(inode);
        expect(fault).toBeInstanceOf(Fault);
        expect(fault).toMatchObject({ code: 'IO_FAILED', reason: 'ENOSPC' });
        expect((fault as Fault).message).toMatch(
          /^could not change (new|f|link|other\/f|other\/folder): no space left/,
        );
      }
    },
  );

  it.each(KINDS)('once by %s succeeds when it is repeated in the same process', async (commit) => {
    for (const failing of await stepsOf(name, commit)) {
      let fail = true;
      const trace = (step: CommitStep): void => {
        if (step !== failing || !fail) return;
        fail = false;
        throw noSpace();
      };
      const disk = bench(BEFORE, { commit, durability: 'full', trace }, scratch(IN_MEMORY));
      await expect(change(disk.workspace, disk.context, name)).rejects.toThrow(Fault);
      expect(treeOf(disk.root)).toEqual([...BEFORE].sort());
      expect(await change(disk.workspace, disk.context, name)).toBe(true);
    }
  });
});
