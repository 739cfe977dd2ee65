import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { startChild } from './child.ts';
import { ok } from './desk.ts';
import { IN_MEMORY, type Scratch, scratch } from './tree.ts';
import { treeWithModes } from './tree-replay.ts';

/**
 * The number of files in each of four folders. Two of the folders contain files with equal bytes.
 */
const FILES = 150;

export interface FolderKills {
  /**
   * Rounds by their result. `untouched`: the folder is complete. `undone`: it is gone and the
   * journal says so. `torn`: anything else.
   */
  readonly untouched: number;
  readonly undone: number;
  readonly torn: number;
}

/**
 * Kills a process while it undoes a change that made a large folder. Each round kills it a bit
 * later. The last rounds wait longer than a whole undo takes. `naive` is a control that removes the
 * folder without Lookfirst: some kills must leave the folder half removed.
 */
export async function killFolderUndos(rounds: number, work: 'undo' | 'naive'): Promise<FolderKills> {
  const places = scratch(IN_MEMORY);
  makeFolder(places.root);
  const before = treeWithModes(places.root);
  let change = await firstChange(places);
  const { wholeMs, told } = await killedAfter(places, { work: 'undo', change });
  expect(treeWithModes(places.root)).toEqual([]);
  change = await broughtBack(places, told);
  expect(treeWithModes(places.root)).toEqual(before);
  const tally = { untouched: 0, undone: 0, torn: 0 };
  for (let round = 0; round < rounds; round += 1) {
    const afterMs = (wholeMs * 1.2 * round) / rounds;
    await killedAfter(places, { work, change, afterMs });
    const undo = await settled(places);
    const after = JSON.stringify(treeWithModes(places.root));
    if (after === JSON.stringify(before)) {
      expect(undo, `round ${round}`).toBe(change);
      tally.untouched += 1;
    } else if (after === '[]' && undo !== change) {
      tally.undone += 1;
      change = await broughtBack(places, undo);
      expect(treeWithModes(places.root), `round ${round}`).toEqual(before);
    } else {
      tally.torn += 1;
      if (work === 'naive') return tally;
    }
  }
  return tally;
}

function makeFolder(root: string): void {
  for (const folder of ['d', 'd/one', 'd/two', 'd/two/deep']) {
    mkdirSync(join(root, folder), { mode: folder === 'd/one' ? 0o750 : 0o755 });
    for (let file = 0; file < FILES; file += 1) {
      const path = join(root, folder, `f${file}`);
      writeFileSync(path, folder === 'd/two' ? `one ${file}\n` : `${folder.slice(2)} ${file}\n`);
      if (file % 7 === 0) chmodSync(path, 0o750);
    }
    symlinkSync('f1', join(root, folder, 'link'));
  }
}

/**
 * Deletes the folder and undoes the deletion. Returns the id of that undo: a change that makes the
 * folder.
 */
async function firstChange({ root, home }: Scratch): Promise<string> {
  const sessions = await Sessions.open({ roots: [root], home });
  const session = await sessions.session('ann');
  await ok(session.list('d', { depth: 9 }));
  const { change = '' } = await ok(session.delete('d', { recursive: true }));
  const { change: back = '' } = await ok(session.undo({ change }));
  await sessions.close();
  return back;
}

/** Undoes an undo. Returns the id of the change that made the folder again. */
async function broughtBack({ root, home }: Scratch, undo: string): Promise<string> {
  const sessions = await Sessions.open({ roots: [root], home });
  const session = await sessions.session('ann');
  const { change = '' } = await ok(session.undo({ change: undo }));
  await sessions.close();
  return change;
}

/**
 * Opens the workspace again and checks that no change is unfinished. Returns the id of the newest
 * change.
 */
async function settled({ root, home }: Scratch): Promise<string> {
  const sessions = await Sessions.open({ roots: [root], home });
  const { store } = sessions.world;
  expect(await store.pending()).toEqual([]);
  expect((await verifyChain(store)).ok).toBe(true);
  const [last] = await store.entries({ kinds: ['change'], limit: 1 });
  await sessions.close();
  return last?.change ?? '';
}

async function killedAfter(
  { root, home }: Scratch,
  {
    work,
    change,
    afterMs,
  }: { readonly work: string; readonly change: string; readonly afterMs?: number | undefined },
): Promise<{ readonly wholeMs: number; readonly told: string }> {
  const child = await startChild('session-folder-taker', { root, home, work, change });
  expect(await child.message()).toBe('begin');
  const start = performance.now();
  if (afterMs !== undefined) {
    await setTimeout(afterMs);
    child.end();
    await child.exit();
    return { wholeMs: afterMs, told: '' };
  }
  const told = await child.message<string>();
  const wholeMs = performance.now() - start;
  await child.exit();
  return { wholeMs, told };
}
