import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callsIn, open, whyNotCallable } from '../mcp/dialect-calls.ts';

describe('the next step of a refused undo_change', () => {
  const ID = /change (c[0-9a-f]+)/;
  const LINES = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n';
  /** A file whose first line this session has changed. */
  async function changed() {
    const t = await open('lookfirst');
    t.put('a.txt', LINES);
    await t.call(t.say.read('a.txt'));
    const { text } = await t.call(t.say.edit('a.txt', 'one', 'ONE'));
    const change = ID.exec(text)?.[1] ?? '';
    const [stated] = [await t.call(['undo_change', { change: 'c0000000000' }])];
    return { ...t, change, unknown: stated, now: () => readFileSync(join(t.root, 'a.txt'), 'utf8') };
  }
  /** Makes the last call of `undo_change` that a text suggests. */
  async function follow(t: Awaited<ReturnType<typeof changed>>, text: string) {
    const named = callsIn(text).filter(([tool]) => tool === 'undo_change');
    for (const each of named) expect(whyNotCallable(t.dialect, each)).toBeUndefined();
    return await t.call(named.at(-1) ?? ['', {}]);
  }

  it('for an unknown id undoes the last change', async () => {
    const t = await changed();
    expect(t.unknown.code).toBe('NOT_FOUND');
    expect((await follow(t, t.unknown.text)).code).toBeUndefined();
    expect(t.now()).toBe(LINES);
  });

  it('for a change that was already undone redoes it', async () => {
    const t = await changed();
    await t.call(['undo_change', { change: t.change }]);
    const again = await t.call(['undo_change', { change: t.change }]);
    expect(again.code).toBe('NOT_FOUND');
    expect((await follow(t, again.text)).code).toBeUndefined();
    expect(t.now()).toContain('ONE');
  });

  it('for a file whose other lines changed since merges both', async () => {
    const t = await changed();
    t.put('a.txt', t.now().replace('seven', 'SEVEN'));
    const stale = await t.call(['undo_change', { change: t.change }]);
    expect(stale.code).toBe('STALE');
    expect((await follow(t, stale.text)).code).toBeUndefined();
    expect(t.now()).toBe(LINES.replace('seven', 'SEVEN'));
  });

  it('for lines that changed since reads the file and edits it', async () => {
    const t = await changed();
    t.put('a.txt', t.now().replace('ONE', 'Uno'));
    const stale = await t.call(['undo_change', { change: t.change, merge: true }]);
    expect(stale.code).toBe('STALE');
    const [next] = callsIn(stale.text.split('\n').at(-1) ?? '');
    expect(next).toEqual(t.say.read('a.txt'));
    expect(stale.text).toContain('edit_file');
  });

  it('for a change with a later change of the same file undoes the later one', async () => {
    const t = await changed();
    const { text } = await t.call(t.say.edit('a.txt', 'two', 'TWO'));
    const stale = await t.call(['undo_change', { change: t.change }]);
    expect(stale.code).toBe('STALE');
    expect(stale.text).toContain(`undo_change {"change":"${ID.exec(text)?.[1]}"}`);
    expect((await follow(t, stale.text)).code).toBeUndefined();
    expect((await t.call(['undo_change', { change: t.change }])).code).toBeUndefined();
    expect(t.now()).toBe(LINES);
  });

  it('for a deleted file creates it; a folder with another file in it stays', async () => {
    const t = await changed();
    rmSync(join(t.root, 'a.txt'));
    const gone = await t.call(['undo_change', { change: t.change }]);
    expect(gone).toMatchObject({ code: 'DELETED', text: expect.stringContaining('Next: write_file') });
    await t.call(['write_file', { path: 'd/new.txt', content: 'new\n' }]);
    t.put('d/other.txt', 'other\n');
    const { text, code } = await t.call(['undo_change', {}]);
    expect(code).toBeUndefined();
    expect(text).toContain('kept d, because it is not empty');
  });
});
