import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UndoSelection } from '../../src/model/session.ts';
import { type Desk, desk, ok } from '../support/desk.ts';
import { difference, treeWithModes } from '../support/tree-replay.ts';

const NUMBERED = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('');

async function removeFolder({ session }: Desk, path: string): Promise<string> {
  await ok(session.list(path, { depth: 9 }));
  return (await ok(session.delete(path, { recursive: true }))).change ?? '';
}

async function removeFile({ session }: Desk, path: string): Promise<string> {
  await ok(session.read(path));
  return (await ok(session.delete(path))).change ?? '';
}

/**
 * A session that undid the deletion of `e/deep/f.txt`. Between the deletion and the undo, it
 * deleted `e/deep` and moved `d`.
 */
async function mixedUp(): Promise<Desk> {
  const t = await desk({ session: 'ann' });
  await t.put('d/x.txt', 'x\n');
  await ok(t.session.write('e/a.txt', 'a\n'));
  await ok(t.session.move('e', 'moved'));
  await ok(t.session.write('e/deep/f.txt', 'f\n'));
  const change = await removeFile(t, 'e/deep/f.txt');
  await removeFolder(t, 'e/deep');
  await ok(t.session.move('d', 'z'));
  await ok(t.session.undo({ change }));
  return t;
}

describe('an undo of everything can be undone:', () => {
  it('a folder that was at the same place twice', async () => {
    const t = await desk({ session: 'ann' });
    await t.put('e/x.txt', 'x\n');
    for (const [from, to] of [
      ['e', 'm'],
      ['m', 'e'],
      ['e', 'm'],
    ] as const)
      await ok(t.session.move(from, to));
    const then = treeWithModes(t.root);
    const { change = '' } = await ok(t.session.undo({ session: 'ann' }));
    expect(treeWithModes(t.root)).toEqual(['755 e/', 'e/x.txt 644 x\n']);
    await ok(t.session.undo({ change }));
    expect(treeWithModes(t.root)).toEqual(then);
  });
});

describe('all changes of a session can be undone, even if some were undone before:', () => {
  it.each<[string, UndoSelection]>([
    ['all since a moment', { sinceMs: 0 }],
    ['all of the session', { session: 'ann' }],
  ])('a folder that an undo recreated is removed when it is empty, not before (%s)', async (_, selection) => {
    const t = await mixedUp();
    const then = treeWithModes(t.root);
    const { change = '' } = await ok(t.session.undo(selection));
    expect(treeWithModes(t.root)).toEqual(['755 d/', 'd/x.txt 644 x\n']);
    await ok(t.session.undo({ change }));
    expect(difference(then, treeWithModes(t.root))).toEqual([]);
  });

  it.each<[string, readonly string[]]>([
    ['alone', []],
    ['beside another session', ['755 b/', 'b/bob.txt 644 bob\n']],
  ])(
    'a folder that was deleted, restored, deleted and recreated gets its original permissions (%s)',
    async (_, stays) => {
      const t = await desk({ session: 'ann' });
      const bob = await t.open({ session: 'bob' });
      await t.put('d/f.txt', 'f\n');
      chmodSync(join(t.root, 'd'), 0o700);
      const tree = treeWithModes(t.root);
      const change = await removeFolder(t, 'd');
      await ok(t.session.write('g.txt', 'g\n'));
      if (stays.length > 0) await ok(bob.write('b/bob.txt', 'bob\n'));
      await ok(t.session.undo({ change }));
      await removeFolder(t, 'd');
      await ok(t.session.write('d/new.txt', 'new\n'));
      await ok(t.session.undo({ session: 'ann' }));
      expect(treeWithModes(t.root)).toEqual([...stays, ...tree]);
    },
  );

  it("a change that was merged with another session's change", async () => {
    const t = await desk({ session: 'ann' });
    await t.put('a.txt', NUMBERED);
    const bob = await t.open({ session: 'bob' });
    await ok(t.session.read('a.txt'));
    const { change = '' } = await ok(t.session.insert('a.txt', 'mine\n', { afterLine: 1 }));
    await ok(bob.read('a.txt'));
    await ok(bob.insert('a.txt', 'theirs\n', { afterLine: 20 }));
    await ok(t.session.undo({ change, merge: true }));
    await ok(t.session.undo({ sinceMs: 0 }));
    expect(t.text('a.txt')).toBe(NUMBERED);
  });

  it('a file that an outside program changed, if its net effect is none', async () => {
    const t = await desk({ session: 'ann' });
    await t.put('d/x.txt', 'x\n');
    await t.put('k/g.txt', 'g\n');
    const change = await removeFile(t, 'k/g.txt');
    await removeFolder(t, 'k');
    await ok(t.session.move('d', 'z'));
    await ok(t.session.undo({ change }));
    await t.put('k/g.txt', 'from outside\n');
    await ok(t.session.undo({ sinceMs: 0 }));
    expect(treeWithModes(t.root)).toEqual([
      '755 d/',
      'd/x.txt 644 x\n',
      '755 k/',
      'k/g.txt 644 from outside\n',
    ]);
  });
});
