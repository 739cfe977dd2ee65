import { describe, expect, it } from 'vitest';
import type { GatedSession } from '../../src/session/gated-session.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { treeOf } from '../support/tree.ts';

async function two(): Promise<Desk & { readonly bob: GatedSession }> {
  const t = await desk({ session: 'ann' });
  await t.put('d/a.txt', 'one\n');
  await t.put('d/b.txt', 'b\n');
  await ok(t.session.read('d/a.txt'));
  return { ...t, bob: await t.open({ session: 'bob' }) };
}

describe('undo of a file works through later folder moves', () => {
  it('of the same session', async () => {
    const t = await two();
    const { change = '' } = await ok(t.session.write('d/a.txt', 'two\n'));
    await ok(t.session.move('d', 'e'));
    await ok(t.session.move('e', 'deep/f'));
    const preview = await ok(t.session.undo({ change, preview: true }));
    expect(preview.files).toEqual([{ path: 'deep/f/a.txt', did: 'restored' }]);
    const { change: undo = '' } = await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(['deep/f/a.txt: one\n', 'deep/f/b.txt: b\n']);
    await ok(t.session.undo({ change: undo }));
    expect(t.text('deep/f/a.txt')).toBe('two\n');
  });

  it('of another session, one change after the other', async () => {
    const t = await two();
    await ok(t.session.write('d/a.txt', 'two\n'));
    await ok(t.session.write('d/a.txt', 'three\n'));
    await ok(t.bob.move('d', 'e'));
    await ok(t.session.undo({}));
    expect(t.text('e/a.txt')).toBe('two\n');
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(['e/a.txt: one\n', 'e/b.txt: b\n']);
  });

  it('for a file that was deleted or created in the folder', async () => {
    const t = await two();
    const { change: made = '' } = await ok(t.session.write('d/new/c.txt', 'c\n'));
    const { change: gone = '' } = await ok(t.session.delete('d/a.txt'));
    await ok(t.bob.move('d', 'e'));
    await ok(t.session.undo({ change: gone }));
    await ok(t.session.undo({ change: made }));
    expect(treeOf(t.root)).toEqual(['e/a.txt: one\n', 'e/b.txt: b\n']);
  });

  it('but not over bytes that another session wrote at the new path', async () => {
    const t = await two();
    const { change = '' } = await ok(t.session.write('d/a.txt', 'two\n'));
    await ok(t.bob.move('d', 'e'));
    await ok(t.bob.read('e/a.txt'));
    await ok(t.bob.write('e/a.txt', 'theirs\n'));
    expect(await refusal(t.session.undo({ change }), 'STALE')).toMatchObject({
      path: 'e/a.txt',
      detail: { writer: { session: 'bob' } },
    });
    expect(t.text('e/a.txt')).toBe('theirs\n');
  });
});

describe('undo of a folder move', () => {
  it('takes along what the same session has changed in the folder since', async () => {
    const t = await two();
    const { change = '' } = await ok(t.session.move('d', 'e'));
    await ok(t.session.write('e/new.txt', 'n\n'));
    const { change: edit = '' } = await ok(t.session.write('e/a.txt', 'two\n'));
    await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(['d/a.txt: two\n', 'd/b.txt: b\n', 'd/new.txt: n\n']);
    await ok(t.session.undo({ change: edit }));
    expect(t.text('d/a.txt')).toBe('one\n');
  });

  it('is refused if another session has put something inside, and names it', async () => {
    const t = await two();
    const { change = '' } = await ok(t.session.move('d', 'e'));
    await ok(t.bob.write('e/theirs.txt', 'theirs\n'));
    const { detail } = await refusal(t.session.undo({ change }), 'STALE');
    expect(detail?.writer?.session).toBe('bob');
    expect(t.text('e/theirs.txt')).toBe('theirs\n');
  });
});
