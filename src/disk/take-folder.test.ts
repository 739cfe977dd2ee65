import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from '../../test/support/disk.ts';
import { treeOf } from '../../test/support/tree.ts';
import { takeFolder } from './take-folder.ts';

/** Calls `takeFolder` for the folder `d`, with a check that calls `act` and then rejects the folder. */
function taken(disk: Bench, act: () => void): ReturnType<typeof takeFolder> {
  return takeFolder(disk.context, disk.place('d', 'parents'), () => {
    act();
    return false;
  });
}

describe('takeFolder', () => {
  it.each<[string, (folder: string) => void]>([
    ['its name', () => {}],
    ['its name, which an empty folder has by now,', (folder) => mkdirSync(folder)],
  ])('gives an unexpected folder %s back', async (_what, act) => {
    const disk = bench(['d/f: x']);
    const outcome = await taken(disk, () => act(join(disk.root, 'd')));
    expect(outcome).toEqual({ ok: false, reason: 'changed', retained: [] });
    expect(treeOf(disk.root)).toEqual(['d/f: x']);
  });

  it.each<[string, (folder: string) => void, string]>([
    ['a folder', (folder) => [mkdirSync(folder), writeFileSync(join(folder, 'g'), 'theirs')], 'd/g: theirs'],
    ['a file', (folder) => writeFileSync(folder, 'theirs'), 'd: theirs'],
  ])('keeps an unexpected folder whose name %s has taken, and says where', async (_what, act, left) => {
    const disk = bench(['d/f: x']);
    const outcome = await taken(disk, () => act(join(disk.root, 'd')));
    if (outcome.ok) throw new Error('taken');
    const [kept = ''] = outcome.retained;
    expect([treeOf(disk.root), readFileSync(join(kept, 'f'), 'utf8')]).toEqual([[left], 'x']);
  });
});
