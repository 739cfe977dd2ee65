import { linkSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

/** A file with two names; the session has read it under the names in `read`. */
async function twoNames(read: readonly string[]): Promise<Desk> {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', 'one\n');
  linkSync(join(t.root, 'a.txt'), join(t.root, 'b.txt'));
  for (const path of read) await ok(t.session.read(path));
  return t;
}

describe('a file with two names', () => {
  it('counts as read only under the name that was read', async () => {
    const t = await twoNames(['a.txt']);
    await refusal(t.session.write('b.txt', 'two\n'), 'NOT_READ');
  });

  it('is stale under both names after a change in place through either', async () => {
    const t = await twoNames(['a.txt', 'b.txt']);
    writeFileSync(join(t.root, 'b.txt'), 'outside\n');
    for (const path of ['a.txt', 'b.txt']) await refusal(t.session.write(path, 'two\n'), 'STALE');
  });

  it('keeps its bytes and its sighting under the other name when the gate writes through one', async () => {
    const t = await twoNames(['a.txt', 'b.txt']);
    const { notices } = await ok(t.session.write('a.txt', 'two\n'));
    expect(notices).toContainEqual({ kind: 'hard-links-broken', count: 1 });
    expect(readFileSync(join(t.root, 'b.txt'), 'utf8')).toBe('one\n');
    await ok(t.session.write('b.txt', 'three\n'));
    expect(t.text('a.txt')).toBe('two\n');
  });

  it('stays one file if it is moved, moved back by an undo, and moved again by a redo', async () => {
    const t = await twoNames(['a.txt']);
    const { ino } = statSync(join(t.root, 'b.txt'));
    await ok(t.session.move('a.txt', 'new/c.txt'));
    const { change = '', files } = await ok(t.session.undo({}));
    expect(files).toEqual([
      { path: 'a.txt', did: 'moved-back' },
      { path: 'new', did: 'removed' },
    ]);
    expect(statSync(join(t.root, 'a.txt')).ino).toBe(ino);
    await ok(t.session.undo({ change }));
    expect(statSync(join(t.root, 'new/c.txt')).ino).toBe(ino);
  });

  it('moves back to its own place, not to that of another file with the same bytes', async () => {
    const t = await desk({ session: 'ann' });
    const names = ['a.txt', 'b.txt', 'c.txt'];
    for (const name of names) await t.put(name, 'same\n');
    const inodes = (): number[] => names.map((name) => statSync(join(t.root, name)).ino);
    const before = inodes();
    await ok(
      t.session.apply(
        names.map((name, at) => ({ kind: 'move', source: name, destination: `${9 - at}.txt` }) as const),
      ),
    );
    await ok(t.session.undo({}));
    expect(inodes()).toEqual(before);
  });

  it('is restored by an undo under the changed name, and the other name is left unchanged', async () => {
    const t = await twoNames(['a.txt', 'b.txt']);
    await ok(t.session.write('a.txt', 'two\n'));
    await ok(t.session.undo({}));
    expect([t.text('a.txt'), t.text('b.txt')]).toEqual(['one\n', 'one\n']);
    await ok(t.session.write('b.txt', 'three\n'));
  });
});
