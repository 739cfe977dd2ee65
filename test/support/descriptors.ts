import { readdirSync, readlinkSync } from 'node:fs';
import { makeOneFolder } from '../../src/disk/folders.ts';
import { move } from '../../src/disk/move.ts';
import { readPage } from '../../src/disk/page.ts';
import { readSnapshot } from '../../src/disk/read.ts';
import { remove, removeLink } from '../../src/disk/remove.ts';
import { create, replace } from '../../src/disk/replace.ts';
import { unlessMissing } from '../../src/model/fault.ts';
import { isWithin } from '../../src/model/path.ts';
import { Workspace } from '../../src/workspace/workspace.ts';
import { type Bench, bench, holding } from './disk.ts';

export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

/**
 * The number of open files and folders below `folder`, and of its parent folders. Other tests of this
 * process may open and close other files at any time.
 */
export function openAround(folder: string): number {
  const targets = readdirSync('/proc/self/fd').map((fd) =>
    unlessMissing(() => readlinkSync(`/proc/self/fd/${fd}`)),
  );
  return targets.filter(
    (target) => target !== undefined && (isWithin(target, folder) || isWithin(folder, target)),
  ).length;
}

const REFUSED = [
  '../x',
  '/etc/passwd',
  'out/f',
  'loop',
  'f/x',
  'd/loop/x',
  'd/e/f/x',
  'd/out/f',
  'd/e/missing-link',
  `d/e/${'n'.repeat(300)}`,
  `d/e/${'n'.repeat(300)}/x`,
  'n'.repeat(300),
  'a\0',
  '',
  'key.pem',
  'd/key.pem',
];

/**
 * Makes `count` operations fail, in every known way. Returns the number of open descriptors before
 * and after them, and the number of operations that failed.
 */
export async function failMany(count: number): Promise<{ before: number; after: number; failed: number }> {
  const tree = [
    'f: text',
    'd/e/f: text',
    'out => OUTSIDE',
    'loop => loop',
    'd/loop => ../loop',
    'd/out => ../../outside',
    'd/e/missing-link => gone/../f',
    'l => f',
  ];
  let failing = false;
  const disk = bench(tree, {
    trace: (step) => {
      if (failing && step === 'publish') throw Object.assign(new Error('injected'), { code: 'EIO' });
    },
  });
  const failTimes = async (times: number): Promise<number> => {
    // Opens a workspace for these tries only. An open workspace keeps recently used folders open,
    // and their descriptors would be counted.
    const workspace = Workspace.open([disk.root], { protect: ['**/*.pem'] });
    const work = operationsOf(disk, workspace, (now) => {
      failing = now;
    });
    let failed = 0;
    for (let done = 0; done < times; done += 1) if (await work(done)) failed += 1;
    workspace.close();
    return failed;
  };
  // Runs each operation first without counting: the first change opens the log of temporary names, which stays open.
  await failTimes(100);
  const before = openAround(disk.root);
  const failed = await failTimes(count);
  return { before, after: openAround(disk.root), failed };
}

/**
 * Returns a function that runs one of several failing operations; `turn` chooses it. The function
 * returns true if the operation failed.
 */
function operationsOf(
  disk: Bench,
  workspace: Workspace,
  inject: (failing: boolean) => void,
): (turn: number) => Promise<boolean> {
  const { context } = disk;
  const bytes = Buffer.from('new');
  const wrong = holding('other');
  const at = async (path: string, work: (place: ReturnType<Bench['place']>) => unknown): Promise<unknown> => {
    const outcome = workspace.locate(path, 'status', 'parents');
    if (!outcome.ok) return outcome;
    try {
      return await work(outcome.located.place);
    } finally {
      outcome.located.place.dir.close();
    }
  };
  const page = { clock: context.clock, from: 1, limit: 1, maxLineBytes: 9 };
  const rows: readonly (() => Promise<unknown>)[] = [
    ...REFUSED.map((path) => async () => workspace.resolve(path)),
    () => at('missing', (place) => readSnapshot(place, context)),
    () => at('d', (place) => readSnapshot(place, context)),
    () => at('d/e/f', (place) => readSnapshot(place, { clock: context.clock, maxBytes: 1 })),
    () => at('d', (place) => readPage(place, page)),
    () => at('f', (place) => create(context, place, { bytes })),
    () => at('d/e/f', (place) => replace(context, place, { bytes, expected: wrong })),
    () => at('d', (place) => replace(context, place, { bytes, expected: wrong })),
    () => at('d/e/f', async (place) => remove(context, place, wrong)),
    () => at('l', async (place) => removeLink(context, place, 'elsewhere')),
    () => at('f', (from) => at('l', async (to) => move(context, from, to))),
    () => at('d', async (place) => makeOneFolder(context, { ...place, name: 'n'.repeat(300) })),
    async () => {
      inject(true);
      try {
        return await at('d/new', (place) => create(context, place, { bytes }));
      } finally {
        inject(false);
      }
    },
  ];
  return async (turn) => {
    const row = rows[turn % rows.length];
    try {
      const done = await row?.();
      return typeof done === 'object' && done !== null && ('problem' in done || ('ok' in done && !done.ok));
    } catch {
      return true;
    }
  };
}
