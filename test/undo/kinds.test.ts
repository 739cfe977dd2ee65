import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';
import { treeOf } from '../support/tree.ts';

/** A folder `d` with two files that the session has listed and read. */
async function withFolder(): Promise<Desk> {
  const t = await desk({ session: 'ann' });
  await t.put('d/e.txt', 'e\n');
  await t.put('d/in/f.txt', 'f\n');
  for (const path of ['d/e.txt', 'd/in/f.txt']) await ok(t.session.read(path));
  for (const path of ['d', 'd/in']) await ok(t.session.list(path));
  return t;
}

describe('undo over a change of kind', () => {
  it('restores a folder that became a file', async () => {
    const t = await withFolder();
    const before = treeOf(t.root);
    await ok(t.session.delete('d', { recursive: true }));
    await ok(t.session.write('d', 'a file now\n'));
    const preview = await ok(t.session.undo({ session: 'ann', preview: true }));
    expect(preview.files.map(({ path, did }) => `${did} ${path}`)).toContain('recreated d/in/f.txt');
    await ok(t.session.undo({ session: 'ann' }));
    expect(treeOf(t.root)).toEqual(before);
  });

  it('restores a file that became a folder, and undoes that undo', async () => {
    const t = await desk({ session: 'ann' });
    await t.put('d', 'a file\n');
    await ok(t.session.read('d'));
    await ok(t.session.delete('d'));
    await ok(t.session.write('d/in/e.txt', 'e\n'));
    const folders = treeOf(t.root);
    const { change = '' } = await ok(t.session.undo({ session: 'ann' }));
    expect(treeOf(t.root)).toEqual(['d: a file\n']);
    await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(folders);
  });

  it('is refused, even as a preview, if something else is in the folder that has to go', async () => {
    const t = await desk({ session: 'ann' });
    await t.put('d', 'a file\n');
    await ok(t.session.read('d'));
    await ok(t.session.delete('d'));
    await ok(t.session.write('d/in/e.txt', 'e\n'));
    await t.put('d/theirs.txt', 'theirs\n');
    const before = treeOf(t.root);
    for (const preview of [true, false])
      expect((await refusal(t.session.undo({ session: 'ann', preview }), 'STALE')).path).toBe('d');
    expect(treeOf(t.root)).toEqual(before);
  });

  it('does not follow a link that has replaced a folder', async () => {
    const t = await withFolder();
    await t.put('other/e.txt', 'another e\n');
    const before = treeOf(t.root);
    const { change = '' } = await ok(t.session.delete('d', { recursive: true }));
    symlinkSync('other', join(t.root, 'd'));
    await refusal(t.session.undo({ change }), 'STALE');
    expect(readFileSync(join(t.root, 'other/e.txt'), 'utf8')).toBe('another e\n');
    rmSync(join(t.root, 'd'));
    await ok(t.session.undo({ change }));
    expect(treeOf(t.root)).toEqual(before);
  });

  it('is refused if the file has become a FIFO', async () => {
    const t = await desk({ session: 'ann' });
    await ok(t.session.write('a.txt', 'a\n'));
    rmSync(join(t.root, 'a.txt'));
    execFileSync('mkfifo', [join(t.root, 'a.txt')]);
    expect((await refusal(t.session.undo({}), 'STALE')).path).toBe('a.txt');
  });

  it('is refused, even as a preview, if a link has replaced the folder of a changed file', async () => {
    const t = await withFolder();
    await ok(t.session.write('d/e.txt', 'changed\n'));
    renameSync(join(t.root, 'd'), join(t.root, 'other'));
    symlinkSync('other', join(t.root, 'd'));
    for (const preview of [true, false])
      expect((await refusal(t.session.undo({ preview }), 'STALE')).path).toBe('d/e.txt');
    expect(t.text('other/e.txt')).toBe('changed\n');
  });

  it('refuses, and names the path, if another program has replaced the folder with a file', async () => {
    const t = await withFolder();
    const { change = '' } = await ok(t.session.delete('d', { recursive: true }));
    writeFileSync(join(t.root, 'd'), 'theirs\n');
    const { path } = await refusal(t.session.undo({ change }), 'STALE');
    expect(path).toBe('d');
    expect(t.text('d')).toBe('theirs\n');
  });

  it('is refused with a relative path if a folder above has become a file', async () => {
    const t = await withFolder();
    await ok(t.session.write('d/e.txt', 'changed\n'));
    rmSync(join(t.root, 'd'), { recursive: true });
    writeFileSync(join(t.root, 'd'), 'theirs\n');
    expect((await refusal(t.session.undo({}), 'NOT_A_FILE')).path).toBe('d/e.txt');
  });
});

describe("undo keeps the session's sightings", () => {
  it('of a folder that it deleted', async () => {
    const t = await withFolder();
    await ok(t.session.delete('d', { recursive: true }));
    await ok(t.session.undo({}));
    await ok(t.session.write('d/e.txt', 'changed\n'));
    await ok(t.session.delete('d', { recursive: true }));
  });

  it('of a folder that it moved', async () => {
    const t = await withFolder();
    await ok(t.session.move('d', 'm'));
    await ok(t.session.undo({}));
    await ok(t.session.write('d/e.txt', 'changed\n'));
    await ok(t.session.delete('d', { recursive: true }));
    expect(lstatSync(join(t.root, 'm'), { throwIfNoEntry: false })).toBeUndefined();
  });

  it('of a file that it moved and read at the new path', async () => {
    const t = await desk({ session: 'ann' });
    await t.put('a.txt', 'a\n');
    await ok(t.session.move('a.txt', 'b.txt'));
    await ok(t.session.read('b.txt'));
    await ok(t.session.undo({}));
    await ok(t.session.write('a.txt', 'changed\n'));
  });

  it('and adds none for a moved folder that was never seen', async () => {
    const t = await desk({ session: 'ann' });
    mkdirSync(join(t.root, 'd'));
    await t.put('d/e.txt', 'e\n');
    await ok(t.session.move('d', 'm'));
    await ok(t.session.undo({}));
    await refusal(t.session.write('d/e.txt', 'changed\n'), 'NOT_READ');
  });
});

it('an undo of a move says so in one line and prints neither file', async () => {
  const t = await desk({ session: 'ann' });
  await t.put('a.txt', 'some text\n');
  await ok(t.session.move('a.txt', 'b.txt'));
  const { diff } = await ok(t.session.undo({}));
  expect(diff).toBe('a.txt\n(moved back from b.txt, same content)');
});

describe('undo of a folder that moved', () => {
  async function moved(): Promise<Desk> {
    const t = await withFolder();
    await ok(t.session.move('d', 'm'));
    return t;
  }

  it('does not move a file or a link that has replaced the folder', async () => {
    for (const put of [
      (path: string) => writeFileSync(path, 'theirs\n'),
      (path: string) => symlinkSync('other', path),
    ]) {
      const t = await moved();
      rmSync(join(t.root, 'm'), { recursive: true });
      put(join(t.root, 'm'));
      const before = treeOf(t.root);
      for (const preview of [true, false])
        expect((await refusal(t.session.undo({ preview }), 'STALE')).path).toBe('m');
      expect(treeOf(t.root)).toEqual(before);
    }
  });

  it('is refused, even as a preview, if the folder was deleted or its old path is taken', async () => {
    const t = await moved();
    mkdirSync(join(t.root, 'd'));
    for (const preview of [true, false])
      expect((await refusal(t.session.undo({ preview }), 'STALE')).path).toBe('d');
    rmSync(join(t.root, 'd'), { recursive: true });
    rmSync(join(t.root, 'm'), { recursive: true });
    for (const preview of [true, false])
      expect((await refusal(t.session.undo({ preview }), 'DELETED')).path).toBe('m');
  });

  it('changes nothing if the user has moved it back, and the next undo continues with the change before', async () => {
    const t = await withFolder();
    await ok(t.session.write('new.txt', 'n\n'));
    await ok(t.session.move('d', 'm'));
    renameSync(join(t.root, 'm'), join(t.root, 'd'));
    const before = treeOf(t.root);
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).toEqual(before);
    await ok(t.session.undo({}));
    expect(treeOf(t.root)).not.toContain('new.txt: n\n');
  });
});

it('a link whose target is not text is neither deleted nor moved, because an undo could not restore it', async () => {
  const t = await withFolder();
  symlinkSync(Buffer.from([0x61, 0xff]), join(t.root, 'd/link'));
  await ok(t.session.list('d'));
  await refusal(t.session.delete('d/link'), 'UNVERIFIABLE');
  await refusal(t.session.move('d/link', 'm'), 'UNVERIFIABLE');
  await refusal(t.session.delete('d', { recursive: true }), 'NOT_A_FILE');
  await ok(t.session.move('d', 'm'));
  await ok(t.session.undo({}));
  expect(readlinkSync(join(t.root, 'd/link'), 'buffer')).toEqual(Buffer.from([0x61, 0xff]));
});

it('undo of an undo gives each of several new folders its own mode', async () => {
  const t = await desk({ session: 'ann' });
  await t.put('outer/inner/f.txt', 'f\n');
  chmodSync(join(t.root, 'outer/inner'), 0o777);
  const modes = (): string[] =>
    ['outer', 'outer/inner'].map((path) => (lstatSync(join(t.root, path)).mode & 0o777).toString(8));
  const before = modes();
  await ok(t.session.read('outer/inner/f.txt'));
  const { change } = await ok(t.session.delete('outer/inner/f.txt'));
  await ok(t.session.list('outer', { depth: 3 }));
  await ok(t.session.delete('outer', { recursive: true }));
  const back = await ok(t.session.undo({ change }));
  const away = await ok(t.session.undo({ change: back.change ?? '' }));
  await ok(t.session.undo({ change: away.change ?? '' }));
  expect(modes()).toEqual(before);
});
