import { lstatSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk, ok } from '../../test/support/desk.ts';

describe('a replacement whose new file is written while the change is announced', () => {
  it('leaves the folder as it was if the announcement fails', async () => {
    const t = await desk({ policy: { durability: 'full' } });
    await t.put('a.txt', 'before\n');
    await ok(t.session.read('a.txt'));
    const { ino } = lstatSync(join(t.root, 'a.txt'));
    // The store refuses to announce changes into a database that is gone.
    renameSync(join(t.home, 'lookfirst.db'), join(t.home, 'moved.db'));
    await expect(t.session.write('a.txt', 'after\n')).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(readdirSync(t.root)).toEqual(['a.txt']);
    expect(t.text('a.txt')).toBe('before\n');
    expect(lstatSync(join(t.root, 'a.txt')).ino).toBe(ino);
  });

  it('keeps a change of another program that comes in between', async () => {
    const t = await desk({ policy: { durability: 'full' } });
    await t.put('a.txt', 'before\n');
    await ok(t.session.read('a.txt'));
    const writing = t.session.write('a.txt', 'ours\n');
    await t.put('a.txt', 'theirs\n');
    const outcome = await writing;
    expect(outcome).toMatchObject({ ok: false, refusal: { code: 'STALE' } });
    expect(t.text('a.txt')).toBe('theirs\n');
    expect(readdirSync(t.root)).toEqual(['a.txt']);
  });

  it('has no temporary file left after it succeeded, and can be undone', async () => {
    const t = await desk({ policy: { durability: 'full' } });
    await t.put('a.txt', 'before\n');
    await ok(t.session.read('a.txt'));
    const { change } = await ok(t.session.write('a.txt', 'after\n'));
    expect(readdirSync(t.root)).toEqual(['a.txt']);
    expect(t.text('a.txt')).toBe('after\n');
    await ok(t.session.undo({ change }));
    expect(t.text('a.txt')).toBe('before\n');
  });
});
