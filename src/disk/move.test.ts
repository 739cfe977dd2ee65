import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench, type CommitStep, openToAll } from '../../test/support/disk.ts';
import { asNobody } from '../../test/support/nobody.ts';
import { HAS_MEMORY, IN_MEMORY, scratch, treeOf } from '../../test/support/tree.ts';
import { Workspace } from '../workspace/workspace.ts';
import { move } from './move.ts';

function moved(disk: Bench, from: string, to: string): ReturnType<typeof move> {
  return move(disk.context, disk.place(from, 'parents'), disk.place(to, 'parents'));
}

/** A workspace with the files of `tree`. The first change made in it calls `act` just before its `step`. */
function meanwhile(tree: readonly string[], step: CommitStep, act: (root: string) => void): Bench {
  let acted = false;
  const disk: Bench = bench(tree, {
    trace: (now) => {
      if (now !== step || acted) return;
      acted = true;
      act(disk.root);
    },
  });
  return disk;
}

/** True if these tests can act as a user who may not make hard links to the files of another user. */
const CANNOT_LINK =
  process.getuid?.() === 0 &&
  process.platform === 'linux' &&
  readFileSync('/proc/sys/fs/protected_hardlinks', 'utf8').trim() === '1';

describe('move', () => {
  it.each<[string, string[], string, string, string[]]>([
    ['a file', ['f: x'], 'f', 'g', ['g: x']],
    ['a file to another folder', ['f: x', 'd/'], 'f', 'd/g', ['d/g: x']],
    ['a link as a link', ['f: x', 'l => f'], 'l', 'm', ['f: x', 'm => f']],
    ['a link that leads out', ['l => /etc'], 'l', 'm', ['m => /etc']],
    ['a folder with what is in it', ['d/e/f: x'], 'd', 'g', ['g/e/f: x']],
    ['a folder into another', ['d/f: x', 'e/'], 'd', 'e/d', ['e/d/f: x']],
  ])('renames %s', async (_what, tree, from, to, after) => {
    const disk = bench(tree, { durability: 'full' });
    const { ino } = lstatSync(join(disk.root, from));
    expect(await moved(disk, from, to)).toEqual({ ok: true });
    expect(treeOf(disk.root)).toEqual(after);
    expect(lstatSync(join(disk.root, to)).ino).toBe(ino);
    expect(disk.retained()).toEqual([]);
  });

  it.each<[string, string[]]>([
    ['a file', ['f: x', 'g: theirs']],
    ['an empty file', ['f: x', 'g: ']],
    ['a folder', ['f: x', 'g/']],
    ['a link', ['f: x', 'g => nowhere']],
    ['a file, for a folder', ['f/inner: x', 'g: theirs']],
    ['a folder, for a folder', ['f/inner: x', 'g/inner: theirs']],
    ['an empty folder, for a folder', ['f/inner: x', 'g/']],
  ])('refuses if %s has the new name', async (_what, tree) => {
    const disk = bench(tree);
    expect(await moved(disk, 'f', 'g')).toMatchObject({ ok: false, reason: 'exists' });
    expect(treeOf(disk.root)).toEqual([...tree].sort());
  });

  it('refuses a missing file', async () => {
    expect(await moved(bench([]), 'f', 'g')).toMatchObject({ ok: false, reason: 'missing' });
  });

  it('refuses to move a read-only file away', async () => {
    const disk = bench(['f: x']);
    chmodSync(join(disk.root, 'f'), 0o444);
    expect(await moved(disk, 'f', 'g')).toMatchObject({ ok: false, reason: 'read-only' });
    expect(disk.names()).toEqual(['f']);
  });

  it.each(['file', 'folder'])('does not replace a file that takes the new name first (%s)', async (what) => {
    const tree = what === 'file' ? ['f: ours'] : ['f/inner: ours'];
    const disk = meanwhile(tree, 'publish', (root) => writeFileSync(join(root, 'g'), 'theirs'));
    expect(await moved(disk, 'f', 'g')).toMatchObject({ ok: false, reason: 'exists' });
    expect(treeOf(disk.root)).toEqual([...tree, 'g: theirs']);
  });

  it('does not touch a file that takes the old name in between, and keeps the file it replaced', async () => {
    const disk = meanwhile(['f: ours'], 'claim', (root) => {
      writeFileSync(join(root, 'x'), 'theirs');
      renameSync(join(root, 'x'), join(root, 'f'));
    });
    expect(await moved(disk, 'f', 'g')).toMatchObject({
      ok: false,
      reason: 'changed',
      retained: [expect.any(String)],
    });
    expect([treeOf(disk.root), disk.retained()]).toEqual([['f: theirs'], ['ours']]);
  });

  it('removes the new name if the old one was deleted in between', async () => {
    const disk = meanwhile(['f: ours'], 'claim', (root) => rmSync(join(root, 'f')));
    expect(await moved(disk, 'f', 'g')).toMatchObject({ ok: false, reason: 'changed' });
    expect([treeOf(disk.root), disk.retained()]).toEqual([[], ['ours']]);
  });

  it('does not touch a folder that takes the old name of a file in between', async () => {
    const disk = meanwhile(['f: ours'], 'claim', (root) => {
      rmSync(join(root, 'f'));
      mkdirSync(join(root, 'f/inner'), { recursive: true });
    });
    expect(await moved(disk, 'f', 'g')).toMatchObject({ ok: false, reason: 'changed' });
    expect(treeOf(disk.root)).toEqual(['f/inner/']);
  });

  it.skipIf(!CANNOT_LINK)("gives another user's file its name back if the new place fails", async () => {
    const disk = bench(['f: x', 'd/']);
    openToAll(disk);
    await expect(asNobody(() => moved(disk, 'f', 'd/g'))).rejects.toThrow(/EACCES/);
    expect(treeOf(disk.root)).toEqual(['d/', 'f: x']);
  });

  it('fails for a move into itself and to another file system, and changes nothing', async () => {
    const disk = bench(['d/e/', 'f: x']);
    await expect(moved(disk, 'd', 'd/e/d')).rejects.toThrow(/could not change d\/e\/d/);
    expect(treeOf(disk.root)).toEqual(['d/e/', 'f: x']);
    if (!HAS_MEMORY) return;
    const elsewhere = scratch(IN_MEMORY);
    const workspace = Workspace.open([elsewhere.root]);
    const there = workspace.locate('f', 'move');
    if (!there.ok) throw new Error(there.refusal.code);
    for (const from of ['f', 'd']) {
      const place = disk.place(from, 'parents');
      await expect(move(disk.context, place, there.located.place)).rejects.toThrow(
        /another file system \(EXDEV\)/,
      );
    }
    expect([treeOf(disk.root), treeOf(elsewhere.root)]).toEqual([['d/e/', 'f: x'], []]);
    there.located.place.dir.close();
    workspace.close();
  });
});
