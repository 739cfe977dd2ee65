import { describe, expect, it } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { treeOf } from '../support/tree.ts';

async function two(): Promise<Desk & { readonly bob: GatedSession }> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', 'one\n');
  await t.put('d/f.txt', 'f\n');
  return { ...t, bob: await t.open({ session: 'bob' }) };
}

async function write(session: GatedSession, path: string, content: string): Promise<string> {
  await session.read(path);
  return (await ok(session.write(path, content))).change ?? '';
}

async function removeFolder(session: GatedSession, path: string): Promise<string> {
  await ok(session.list(path, { depth: 9 }));
  return (await ok(session.delete(path, { recursive: true }))).change ?? '';
}

describe('a change between the undone ones', () => {
  it('by another session makes the undo refuse, and is named with its session', async () => {
    const t = await two();
    await write(t.session, 'a.txt', 'two\n');
    const theirs = await write(t.bob, 'a.txt', 'three\n');
    await write(t.session, 'a.txt', 'four\n');
    const { path, detail } = await refusal(t.session.undo({ session: 'ann' }), 'STALE');
    expect([path, detail?.writer?.session]).toEqual(['a.txt', 'bob']);
    expect(detail?.reason).toContain(`change ${theirs} by session bob came after change`);
  });

  it('by an unknown program makes the undo refuse, and says between which changes', async () => {
    const t = await two();
    const first = await write(t.session, 'a.txt', 'two\n');
    await t.put('a.txt', 'from outside\n');
    const second = await write(t.session, 'a.txt', 'three\n');
    const { detail } = await refusal(t.session.undo({ session: 'ann' }), 'STALE');
    expect(detail?.reason).toBe(`another program changed it between change ${first} and change ${second}`);
    expect(t.text('a.txt')).toBe('three\n');
  });

  it.each([
    ['the change before it', ['two\n'], 'one\n'],
    ['the last of two changes before it', ['two\n', 'three\n'], 'two\n'],
  ])('by an unknown program is no obstacle if it only reverted %s', async (_what, contents, reverted) => {
    const t = await two();
    for (const content of contents) await write(t.session, 'a.txt', content);
    await t.put('a.txt', reverted);
    await write(t.session, 'a.txt', 'last\n');
    await ok(t.session.undo({ session: 'ann' }));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('of another file does not block the undo', async () => {
    const t = await two();
    await write(t.session, 'a.txt', 'two\n');
    await write(t.bob, 'd/f.txt', 'theirs\n');
    await ok(t.session.undo());
    expect(treeOf(t.root)).toEqual(['a.txt: one\n', 'd/f.txt: theirs\n']);
  });

  it('that has already restored a folder does not block the undo', async () => {
    const t = await two();
    const before = treeOf(t.root);
    const change = await removeFolder(t.session, 'd');
    await ok(t.bob.apply([{ kind: 'mkdir', path: 'd' }]));
    await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(before);
  });

  it('that removed a folder of the session leaves its deleted file at that path to come back', async () => {
    const t = await two();
    await ok(t.session.read('a.txt'));
    await ok(t.session.delete('a.txt'));
    await ok(t.session.apply([{ kind: 'mkdir', path: 'a.txt' }]));
    await removeFolder(t.bob, 'a.txt');
    await ok(t.session.undo({ session: 'ann' }));
    expect(t.text('a.txt')).toBe('one\n');
  });

  it('that undid and redid the same path is not taken for its undo', async () => {
    const t = await two();
    const change = await write(t.session, 'a.txt', 'two\n');
    const { change: undo = '' } = await ok(t.session.undo({ change }));
    const { change: redo = '' } = await ok(t.session.undo({ change: undo }));
    const { change: again = '' } = await ok(t.session.undo({ change: redo }));
    await ok(t.session.undo({ change: undo }));
    // The bytes before `again` are there once more, but by a later change.
    await refusal(t.session.undo({ change: again }), 'STALE');
    expect(t.text('a.txt')).toBe('two\n');
  });
});

describe('a moved folder', () => {
  it('moves back although another session has moved the folder around it', async () => {
    const t = await two();
    const before = treeOf(t.root);
    await ok(t.session.move('d', 'e/f'));
    await ok(t.bob.move('e', 'g'));
    await ok(t.session.undo());
    expect(treeOf(t.root)).toEqual(before);
  });

  it.each<[string, (t: Desk & { readonly bob: GatedSession }) => Promise<unknown>]>([
    ['created its old path again', (t) => ok(t.bob.write('d/theirs.txt', 'theirs\n'))],
    ['changed a file in it', (t) => write(t.bob, 'e/f.txt', 'theirs\n')],
  ])('stays if another session has %s, with and without a merge', async (_what, act) => {
    const t = await two();
    const { change = '' } = await ok(t.session.move('d', 'e'));
    await act(t);
    const before = treeOf(t.root);
    for (const merge of [false, true]) {
      const { detail } = await refusal(t.session.undo({ change, merge }), 'STALE');
      expect(detail?.writer?.session).toBe('bob');
    }
    expect(treeOf(t.root)).toEqual(before);
  });

  it('moves back when one of the folders that were made for it is undone', async () => {
    const t = await two();
    const before = treeOf(t.root);
    const { change = '' } = await ok(t.session.move('d', 'e/f'));
    await ok(t.session.undo({ change, path: 'e' }));
    expect(treeOf(t.root)).toEqual(before);
  });
});
