import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { desk, ok } from '../support/desk.ts';

/** With this many files in a folder, an undo restores or removes the folder by one rename. */
const MANY = 20;

describe('undo in a root inside another root', () => {
  it('restores a deleted folder at its own place, and names it so that the next call finds it', async () => {
    const t = await desk({ session: 'ann' });
    const inner = join(t.root, 'inner');
    mkdirSync(inner);
    const session = await t.open({ roots: [t.root, inner] });
    const folder = join(inner, 'd');
    for (let i = 0; i < MANY; i += 1) await t.put(`inner/d/${i}.txt`, `${i}\n`);
    await ok(session.list(folder));
    await ok(session.delete(folder, { recursive: true }));
    const { files } = await ok(session.undo({}));
    expect(files[0]).toEqual({ path: folder, did: 'recreated' });
    expect(readdirSync(folder)).toHaveLength(MANY);
    expect(existsSync(join(t.root, 'd'))).toBe(false);
  });
});

it('undo of a session restores the files of a second root, even if an undo left a folder in the first', async () => {
  const t = await desk({ session: 'ann' });
  const other = join(t.outside, 'h.txt');
  const session = await t.open({ roots: [t.root, t.outside] });
  await t.put('g.txt', 'g\n');
  writeFileSync(other, 'h\n');
  for (const path of ['g.txt', other]) await ok(session.read(path));
  await ok(
    session.apply([
      { kind: 'write', path: 'g.txt', content: 'g2\n' },
      { kind: 'write', path: other, content: 'h2\n' },
    ]),
  );
  await ok(session.write('d/mine.txt', 'mine\n'));
  await t.put('d/theirs.txt', 'theirs\n');
  await ok(session.undo({}));
  rmSync(join(t.root, 'd/theirs.txt'));
  await ok(session.undo({ session: 'ann' }));
  expect([t.text('g.txt'), readFileSync(other, 'utf8')]).toEqual(['g\n', 'h\n']);
});
