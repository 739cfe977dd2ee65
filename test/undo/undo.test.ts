import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collectGarbage, planGc } from '../../src/journal/gc.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { loseBytes } from '../support/kept.ts';
import { openRemote } from '../support/remote.ts';
import { treeOf } from '../support/tree.ts';

const NUMBERED = Array.from({ length: 30 }, (_, index) => `line ${index + 1}\n`).join('');

async function withFile(text = 'one\n'): Promise<Desk> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', text);
  await ok(t.session.read('a.txt'));
  return t;
}

function modeOf(t: Desk, name: string): string {
  return (statSync(join(t.root, name)).mode & 0o777).toString(8);
}

describe('undo beside other processes', () => {
  it("never loses another process's edit, whichever is faster", async () => {
    const t = await withFile(NUMBERED);
    const bob = await openRemote({ roots: [t.root], home: t.home, session: 'bob' });
    for (let round = 0; round < 25; round += 1) {
      const [mine, theirs] = [`mine ${round}\n`, `theirs ${round}\n`];
      await ok(t.session.read('a.txt'));
      const { change = '' } = await ok(t.session.insert('a.txt', mine, { afterLine: 1 }));
      await ok(bob.call('read', 'a.txt'));
      const [undone, edited] = await Promise.all([
        t.session.undo({ change }),
        bob.call('insert', 'a.txt', theirs, { afterLine: 20 }),
      ]);
      const text = t.text('a.txt');
      expect([text.includes(mine), text.includes(theirs)]).toEqual([!undone.ok, edited.ok]);
      if (!undone.ok) {
        expect(undone.refusal).toMatchObject({ code: 'STALE', detail: { writer: { session: 'bob' } } });
        await ok(t.session.undo({ change, merge: true }));
        expect([t.text('a.txt').includes(mine), t.text('a.txt').includes(theirs)]).toEqual([false, true]);
      }
    }
  });

  it('undoes a change once, even if two processes try at the same time', async () => {
    const t = await withFile('0\n');
    const bob = await openRemote({ roots: [t.root], home: t.home, session: 'bob' });
    for (let round = 1; round <= 15; round += 1) {
      await ok(t.session.read('a.txt'));
      const { change = '' } = await ok(t.session.write('a.txt', `${round}\n`));
      await ok(bob.call('read', 'a.txt'));
      const both = await Promise.all([t.session.undo({ change }), bob.call('undo', { change })]);
      expect(both.filter((outcome) => outcome.ok)).toHaveLength(1);
      expect(both.find((outcome) => !outcome.ok)).toMatchObject({ refusal: { code: 'NOT_FOUND' } });
      expect(t.text('a.txt')).toBe('0\n');
      const undo = both.flatMap((outcome) => (outcome.ok ? [outcome.change ?? ''] : []));
      await ok(t.session.read('a.txt'));
      // A redone change can be undone again.
      await ok(t.session.undo({ change: undo[0] ?? '' }));
      expect(t.text('a.txt')).toBe(`${round}\n`);
      await ok(t.session.undo({ change }));
    }
  });

  it('of a session is refused if another session built on it, names that session, and works for other files one by one', async () => {
    const t = await withFile();
    await ok(t.session.write('a.txt', 'two\n'));
    await ok(t.session.write('own.txt', 'mine\n'));
    const bob = await t.open({ session: 'bob' });
    await ok(bob.read('a.txt'));
    const { change } = await ok(bob.write('a.txt', 'three\n'));
    const before = treeOf(t.root);
    const { path, detail } = await refusal(t.session.undo({ session: 'ann' }), 'STALE');
    expect([path, detail?.writer?.session]).toEqual(['a.txt', 'bob']);
    expect(detail?.reason).toContain(change);
    expect(treeOf(t.root)).toEqual(before);
    await ok(t.session.undo({ session: 'ann', path: 'own.txt' }));
    expect(treeOf(t.root)).toEqual(['a.txt: three\n']);
    await ok(bob.undo({ session: 'bob' }));
    await ok(t.session.undo({ session: 'ann' }));
    expect(treeOf(t.root)).toEqual(['a.txt: one\n']);
  });
});

describe('undo of a batch', () => {
  async function batch(): Promise<Desk & { readonly change: string }> {
    const t = await withFile();
    await t.put('b.txt', 'b\n');
    await ok(t.session.read('b.txt'));
    const { change = '' } = await ok(
      t.session.apply([
        { kind: 'write', path: 'a.txt', content: 'two\n' },
        { kind: 'write', path: 'new/c.txt', content: 'c\n' },
        { kind: 'write', path: 'new/d.txt', content: 'd\n' },
        { kind: 'delete', path: 'b.txt' },
      ]),
    );
    return { ...t, change };
  }

  it('with two new files in one new folder removes all of it', async () => {
    const t = await batch();
    await ok(t.session.undo({ change: t.change }));
    expect(treeOf(t.root)).toEqual(['a.txt: one\n', 'b.txt: b\n']);
  });

  it.each([
    ['changed', (t: Desk) => writeFileSync(join(t.root, 'new/d.txt'), 'by hand\n')],
    ['deleted', (t: Desk) => rmSync(join(t.root, 'new/d.txt'))],
    ['created', (t: Desk) => writeFileSync(join(t.root, 'b.txt'), 'by hand\n')],
    ['write-protected', (t: Desk) => chmodSync(join(t.root, 'a.txt'), 0o444)],
  ])('of which one file was %s since reverts all or nothing', async (what, meddle) => {
    const t = await batch();
    meddle(t);
    const before = treeOf(t.root);
    const outcome = await t.session.undo({ change: t.change });
    if (outcome.ok) expect([what, treeOf(t.root)]).toEqual(['deleted', ['a.txt: one\n', 'b.txt: b\n']]);
    else expect(treeOf(t.root)).toEqual(before);
  });

  it('(control) a batch that changes a file in a folder it moves or deletes is refused', async () => {
    const t = await desk();
    await t.put('d/f.txt', 'f\n');
    await ok(t.session.read('d/f.txt'));
    const edit = { kind: 'edit', path: 'd/f.txt', edits: [{ oldString: 'f', newString: 'g' }] } as const;
    const move = { kind: 'move', source: 'd', destination: 'e' } as const;
    await refusal(t.session.apply([move, edit]), 'INVALID_ARGUMENT');
    await refusal(
      t.session.apply([edit, { kind: 'delete', path: 'd', recursive: true }]),
      'INVALID_ARGUMENT',
    );
    expect(treeOf(t.root)).toEqual(['d/f.txt: f\n']);
  });

  it('moves a folder back if a later step fails', async () => {
    const t = await withFile();
    await t.put('d/f.txt', 'f\n');
    await ok(t.session.write('a.txt', 'two\n'));
    await ok(t.session.move('d', 'e'));
    chmodSync(join(t.root, 'a.txt'), 0o444);
    for (const preview of [true, false]) await refusal(t.session.undo({ sinceMs: 0, preview }), 'READ_ONLY');
    expect(treeOf(t.root)).toEqual(['a.txt: two\n', 'e/f.txt: f\n']);
  });

  it('removes the folders that it created, if a later step fails', async () => {
    const t = await withFile();
    await t.put('d/e/f.txt', 'f\n');
    await t.put('x/y/z/b.txt', 'b\n');
    for (const path of ['d/e/f.txt', 'x/y/z/b.txt']) await ok(t.session.read(path));
    await ok(t.session.delete('d/e/f.txt'));
    await ok(t.session.write('x/y/z/b.txt', 'two\n'));
    rmSync(join(t.root, 'd'), { recursive: true });
    chmodSync(join(t.root, 'x/y/z/b.txt'), 0o444);
    const before = treeOf(t.root);
    await refusal(t.session.undo({ sinceMs: 0 }), 'READ_ONLY');
    expect(treeOf(t.root)).toEqual(before);
  });
});

describe('undo of an undo', () => {
  it('redoes the change, any number of times', async () => {
    const t = await withFile();
    let { change = '' } = await ok(t.session.write('a.txt', 'two\n'));
    for (const text of ['one\n', 'two\n', 'one\n', 'two\n']) {
      change = (await ok(t.session.undo({ change }))).change ?? '';
      expect(t.text('a.txt')).toBe(text);
    }
  });

  it('of a recursive delete deletes again, with everything in it', async () => {
    const t = await desk();
    await t.put('d/e/f.txt', 'f\n');
    await ok(t.session.list('d', { depth: 9 }));
    const { change = '' } = await ok(t.session.delete('d', { recursive: true }));
    const undone = await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(['d/e/f.txt: f\n']);
    await ok(t.session.undo({ change: undone.change ?? '' }));
    expect(readdirSync(t.root)).toEqual([]);
  });
});

describe('undo restores', () => {
  it('the modes of folders and files as they were, not those of later files with the same name', async () => {
    const t = await desk();
    await t.put('d/secret.txt', 'secret\n');
    chmodSync(join(t.root, 'd'), 0o700);
    chmodSync(join(t.root, 'd/secret.txt'), 0o600);
    await ok(t.session.read('d/secret.txt'));
    await ok(t.session.list('d'));
    await ok(t.session.delete('d', { recursive: true }));
    await ok(t.session.write('d/secret.txt', 'public\n'));
    expect([modeOf(t, 'd'), modeOf(t, 'd/secret.txt')]).toEqual(['755', '644']);
    await ok(t.session.undo({ sinceMs: 0 }));
    expect([modeOf(t, 'd'), modeOf(t, 'd/secret.txt')]).toEqual(['700', '600']);
    expect(t.text('d/secret.txt')).toBe('secret\n');
  });

  it('the mode of a new file and its folder when the creation is redone', async () => {
    const t = await desk();
    const mask = process.umask(0o077);
    const { change = '' } = await ok(t.session.write('d/own.txt', 'mine\n'));
    process.umask(mask);
    const undone = await ok(t.session.undo({ change }));
    await ok(t.session.undo({ change: undone.change ?? '' }));
    expect([modeOf(t, 'd'), modeOf(t, 'd/own.txt')]).toEqual(['700', '600']);
  });

  it('the bytes but not the mode, if the mode was changed since', async () => {
    const t = await withFile();
    const { change = '' } = await ok(t.session.write('a.txt', 'two\n'));
    chmodSync(join(t.root, 'a.txt'), 0o600);
    await ok(t.session.undo({ change }));
    expect([t.text('a.txt'), modeOf(t, 'a.txt')]).toEqual(['one\n', '600']);
  });

  it('a chain of moves, one by one and all at once', async () => {
    const moves = [
      ['a.txt', 'b.txt'],
      ['d', 'e'],
      ['b.txt', 'e/a.txt'],
      ['e', 'deep/er/d'],
      ['deep/er/d/f.txt', 'a.txt'],
      ['deep', 'shallow'],
    ] as const;
    for (const how of ['one by one', 'at once']) {
      const t = await withFile();
      await t.put('d/f.txt', 'f\n');
      const trees = [treeOf(t.root)];
      for (const [from, to] of moves) {
        await ok(t.session.move(from, to));
        trees.push(treeOf(t.root));
      }
      trees.pop();
      if (how === 'at once') await ok(t.session.undo({ sinceMs: 0 }));
      else
        for (const tree of trees.toReversed()) {
          await ok(t.session.undo({}));
          expect(treeOf(t.root)).toEqual(tree);
        }
      expect(treeOf(t.root), how).toEqual(trees[0]);
    }
  });

  it('a file that was moved onto another, and that other file', async () => {
    const t = await withFile();
    await t.put('b.txt', 'other\n');
    chmodSync(join(t.root, 'b.txt'), 0o640);
    await ok(t.session.read('b.txt'));
    await ok(t.session.move('a.txt', 'b.txt'));
    expect(treeOf(t.root)).toEqual(['b.txt: one\n']);
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(['a.txt: one\n', 'b.txt: other\n']);
    expect(modeOf(t, 'b.txt')).toBe('640');
  });

  it('a folder that was deleted and recreated with other files in it', async () => {
    const t = await desk();
    await t.put('d/f.txt', 'f\n');
    await t.put('d/e/g.txt', 'g\n');
    await ok(t.session.list('d', { depth: 9 }));
    await ok(t.session.delete('d', { recursive: true }));
    await ok(t.session.write('d/f.txt', 'another\n'));
    await ok(t.session.write('d/new/h.txt', 'h\n'));
    await ok(t.session.undo({ sinceMs: 0 }));
    expect(treeOf(t.root)).toEqual(['d/e/g.txt: g\n', 'd/f.txt: f\n']);
  });

  it('a folder at a path where an earlier undo has created other folders', async () => {
    const t = await desk({ session: 'ann' });
    await t.put('e/g.txt', 'g\n');
    await ok(t.session.move('e', 'moved'));
    await ok(t.session.write('e/deep/f.txt', 'f\n'));
    const { change = '' } = await ok(t.session.delete('e/deep/f.txt'));
    await ok(t.session.list('e', { depth: 9 }));
    await ok(t.session.delete('e/deep', { recursive: true }));
    await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(['e/deep/f.txt: f\n', 'moved/g.txt: g\n']);
    await ok(t.session.delete('e/deep/f.txt'));
    await ok(t.session.undo({ sinceMs: 0 }));
    expect(treeOf(t.root)).toEqual(['e/g.txt: g\n']);
  });

  it('links that were deleted, moved, inside folders, or replaced by files', async () => {
    const t = await withFile();
    symlinkSync('a.txt', join(t.root, 'link'));
    symlinkSync('nowhere', join(t.root, 'dangling'));
    const before = treeOf(t.root);
    await ok(t.session.delete('dangling'));
    await ok(t.session.move('link', 'd/link'));
    await ok(t.session.write('link', 'a file now\n'));
    expect(lstatSync(join(t.root, 'link')).isFile()).toBe(true);
    await ok(t.session.undo({ sinceMs: 0 }));
    expect(treeOf(t.root)).toEqual(before);
    expect(readlinkSync(join(t.root, 'dangling'))).toBe('nowhere');
  });

  it('the bytes of a file with further hard links, which keep theirs', async () => {
    const t = await withFile();
    linkSync(join(t.root, 'a.txt'), join(t.outside, 'twin'));
    const { change = '', notices } = await ok(t.session.write('a.txt', 'two\n'));
    expect(notices).toEqual([{ kind: 'hard-links-broken', count: 1 }]);
    writeFileSync(join(t.outside, 'twin'), 'changed through the other name\n');
    await ok(t.session.undo({ change }));
    expect(t.text('a.txt')).toBe('one\n');
    expect(readFileSync(join(t.outside, 'twin'), 'utf8')).toBe('changed through the other name\n');
  });

  it('a deleted file with further hard links', async () => {
    const t = await withFile();
    linkSync(join(t.root, 'a.txt'), join(t.outside, 'twin'));
    await ok(t.session.delete('a.txt'));
    writeFileSync(join(t.outside, 'twin'), 'changed through the other name\n');
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('one\n');
  });
});

describe('undo that cannot be done', () => {
  it('because gc has removed its images, is refused and says so', async () => {
    const t = await withFile();
    const { change = '' } = await ok(t.session.write('a.txt', 'two\n'));
    await ok(t.session.read('a.txt'));
    await t.session.close();
    const sessions = await Sessions.open({ roots: [t.root], home: t.home });
    const limits = { retentionMs: 1, quotaBytes: 0, sessionIdleMs: 0 };
    const plan = await planGc(sessions.world, limits, Date.now() + 60 * 60_000);
    await collectGarbage(sessions.world, plan);
    const session = await sessions.session('ann');
    const { detail } = await refusal(session.undo({ change }), 'NOT_FOUND');
    expect(detail?.reason).toBe(`there is no change ${change} in this workspace`);
    await refusal(session.undo({}), 'NOT_FOUND');
    expect(t.text('a.txt')).toBe('two\n');
    await sessions.close();
  });

  it('because the kept bytes are missing, is refused and changes nothing', async () => {
    const t = await withFile();
    await t.put('b.txt', 'b\n');
    await ok(t.session.read('b.txt'));
    const { change = '' } = await ok(
      t.session.apply([
        { kind: 'write', path: 'b.txt', content: 'bb\n' },
        { kind: 'write', path: 'a.txt', content: 'two\n' },
      ]),
    );
    await loseBytes(t.home);
    const { path, detail } = await refusal(t.session.undo({ change }), 'NOT_FOUND');
    expect([path, detail?.reason]).toEqual(['b.txt', 'its earlier bytes are no longer kept']);
    expect([t.text('a.txt'), t.text('b.txt')]).toEqual(['two\n', 'bb\n']);
  });

  it('because the folder is not writable any more, is refused and changes nothing', async () => {
    const t = await desk();
    await ok(t.session.write('d/f.txt', 'f\n'));
    await ok(t.session.write('g.txt', 'g\n'));
    rmSync(join(t.root, 'd'), { recursive: true });
    symlinkSync(t.outside, join(t.root, 'd'));
    await refusal(t.session.undo({ sinceMs: 0 }), 'OUTSIDE_WORKSPACE');
    expect(existsSync(join(t.root, 'g.txt'))).toBe(true);
    expect(readdirSync(t.outside)).toEqual([]);
  });
});
