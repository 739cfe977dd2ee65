import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/report/explain.ts';
import { type Desk, desk, ok, refusal } from '../support/desk.ts';

describe.each(['memory:', undefined])('undo over store %s', (store) => {
  const open = (): Promise<Desk> => desk(store === undefined ? {} : { store });

  it('restores the bytes before a change, and is itself a change that can be undone', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    const { change = '' } = await ok(t.session.write('a.txt', 'two\n'));
    const undone = await ok(t.session.undo({ change }));
    expect(t.text('a.txt')).toBe('one\n');
    expect(undone.undid).toEqual([change]);
    await ok(t.session.undo({ change: undone.change ?? '' }));
    expect(t.text('a.txt')).toBe('two\n');
  });

  it('undoes the next older change the second time', async () => {
    const t = await open();
    await ok(t.session.write('a.txt', '1\n'));
    await ok(t.session.write('a.txt', '2\n'));
    await ok(t.session.write('a.txt', '3\n'));
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('2\n');
    await ok(t.session.undo({}));
    expect(t.text('a.txt')).toBe('1\n');
    await ok(t.session.undo({}));
    expect(existsSync(join(t.root, 'a.txt'))).toBe(false);
    await refusal(t.session.undo({}), 'NOT_FOUND');
  });

  it('is refused if the file was deleted since, and says so', async () => {
    const t = await open();
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await ok(t.session.write('a.txt', 'two\n'));
    rmSync(join(t.root, 'a.txt'));
    const text = explain(await refusal(t.session.undo({}), 'DELETED'), { nowMs: 0 });
    expect(text).toContain('refusing to undo changes to a.txt: it was deleted since that change [DELETED]\n');
  });

  it('undoes changes in all roots, newest first, even a move between two roots', async () => {
    const t = await open();
    const two = join(t.home, '..', 'two');
    mkdirSync(two);
    const session = await t.open({ roots: [t.root, two] });
    await ok(session.write('a.txt', '1\n'));
    await ok(session.write(join(two, 'b.txt'), '2\n'));
    await ok(session.move('a.txt', join(two, 'c.txt')));
    await ok(session.undo({ path: 'a.txt' }));
    expect(t.text('a.txt')).toBe('1\n');
    await ok(session.undo({}));
    expect(readdirSync(two)).toEqual([]);
    await ok(session.undo({}));
    expect(readdirSync(t.root)).toEqual([]);
    await refusal(session.undo({}), 'NOT_FOUND');
  });

  it('refuses with the diff if the file changed since, and changes nothing', async () => {
    const t = await open();
    await ok(t.session.write('a.txt', 'mine\n'));
    await t.put('a.txt', 'by hand\n');
    const { detail } = await refusal(t.session.undo({}), 'STALE');
    expect(detail?.diff).toContain('+by hand');
    expect(t.text('a.txt')).toBe('by hand\n');
  });

  it('keeps later outside changes with `merge`', async () => {
    const t = await open();
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
    await t.put('a.txt', `${lines.join('\n')}\n`);
    await ok(t.session.read('a.txt'));
    await ok(t.session.edit('a.txt', [{ oldString: 'line 2\n', newString: 'line two\n' }]));
    await t.put('a.txt', t.text('a.txt').replace('line 19', 'line 19 by hand'));
    await refusal(t.session.undo({}), 'STALE');
    const merged = await ok(t.session.undo({ merge: true }));
    expect(merged.files).toEqual([{ path: 'a.txt', did: 'merged' }]);
    expect(t.text('a.txt')).toBe(`${lines.join('\n')}\n`.replace('line 19', 'line 19 by hand'));
  });

  it('previews without changing anything', async () => {
    const t = await open();
    await ok(t.session.write('a.txt', 'x\n'));
    const shown = await ok(t.session.undo({ preview: true }));
    expect(shown).toMatchObject({ files: [{ path: 'a.txt', did: 'removed' }] });
    expect(shown.change).toBeUndefined();
    expect(t.text('a.txt')).toBe('x\n');
  });

  it('previews a file whose name has several lines under a name of one line', async () => {
    const t = await open();
    await ok(t.session.write('a\n(and 3 more files)', 'x\n'));
    const { diff } = await ok(t.session.undo({ preview: true }));
    expect(diff).toMatch(/^"a\\n\(and 3 more files\)"\n/);
  });

  it('summarises a binary file in its preview', async () => {
    const t = await open();
    await ok(t.session.write('a.bin', 'MZ\0\n'));
    const { diff } = await ok(t.session.undo({ preview: true }));
    expect(diff).toBe('a.bin\n(binary, 4 B)');
  });

  it('of a deletion restores bytes and mode, of a creation removes the file and its new folders', async () => {
    const t = await open();
    await t.put('gone.txt', 'precious\n');
    chmodSync(join(t.root, 'gone.txt'), 0o640);
    await ok(t.session.read('gone.txt'));
    const { change = '' } = await ok(t.session.delete('gone.txt'));
    const made = await ok(t.session.write('new/deep/file.txt', 'x'));
    await ok(t.session.undo({ change: made.change ?? '' }));
    await ok(t.session.undo({ change }));
    expect(readdirSync(t.root)).toEqual(['gone.txt']);
    expect(statSync(join(t.root, 'gone.txt')).mode & 0o777).toBe(0o640);
    expect(t.text('gone.txt')).toBe('precious\n');
  });

  it('of a recursive delete restores folders, files and links', async () => {
    const t = await open();
    await t.put('d/one', '1');
    await t.put('d/e/two', '2');
    symlinkSync('../one', join(t.root, 'd/e/link'));
    mkdirSync(join(t.root, 'd/empty'));
    await ok(t.session.list('d', { depth: 5 }));
    await ok(t.session.delete('d', { recursive: true }));
    expect(readdirSync(t.root)).toEqual([]);
    await ok(t.session.undo({}));
    expect(t.text('d/e/two')).toBe('2');
    expect(lstatSync(join(t.root, 'd/e/link')).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(t.root, 'd')).sort()).toEqual(['e', 'empty', 'one']);
  });

  it('of a move restores the old path, for files and folders', async () => {
    const t = await open();
    await t.put('d/file', '1');
    const folder = await ok(t.session.move('d', 'else/where'));
    expect(t.text('else/where/file')).toBe('1');
    await ok(t.session.undo({ change: folder.change ?? '' }));
    expect(t.text('d/file')).toBe('1');
    const file = await ok(t.session.move('d/file', 'd/other'));
    await ok(t.session.undo({ change: file.change ?? '' }));
    expect(readdirSync(join(t.root, 'd'))).toEqual(['file']);
  });

  it('of a batch reverts all of it', async () => {
    const t = await open();
    await t.put('a', 'a\n');
    await t.put('m', 'm\n');
    await ok(t.session.read('a'));
    const { change = '' } = await ok(
      t.session.apply([
        { kind: 'write', path: 'a', content: 'A\n' },
        { kind: 'write', path: 'n/new', content: 'N\n' },
        { kind: 'move', source: 'm', destination: 'moved' },
      ]),
    );
    await ok(t.session.undo({ change }));
    expect([t.text('a'), t.text('m'), existsSync(join(t.root, 'n'))]).toEqual(['a\n', 'm\n', false]);
  });

  it('takes the path of a link for the file that was written through it, unless the link itself was changed', async () => {
    const t = await open();
    await t.put('target.txt', 'one\n');
    symlinkSync('target.txt', join(t.root, 'link'));
    await ok(t.session.read('link'));
    await ok(t.session.write('link', 'two\n'));
    await ok(t.session.undo({ path: 'link' }));
    expect(t.text('target.txt')).toBe('one\n');
    await ok(t.session.move('link', 'moved'));
    await ok(t.session.undo({ path: 'moved' }));
    expect(readlinkSync(join(t.root, 'link'))).toBe('target.txt');
  });

  it('can cover all changes since a time, or one file only', async () => {
    const t = await open();
    await ok(t.session.write('a', '1\n'));
    await ok(t.session.write('b', '1\n'));
    await ok(t.session.write('a', '2\n'));
    await ok(t.session.undo({ path: 'b' }));
    expect([t.text('a'), existsSync(join(t.root, 'b'))]).toEqual(['2\n', false]);
    await ok(t.session.undo({ sinceMs: 0 }));
    expect(readdirSync(t.root)).toEqual([]);
  });
});

it('names files of another root by their absolute path, so that the next call finds them', async () => {
  const t = await desk({ store: 'memory:' });
  const session = await t.open({ roots: [t.root, t.outside] });
  const path = join(t.outside, 'a.txt');
  writeFileSync(path, 'one\n');
  await t.put('a.txt', 'first root\n');
  for (const each of ['a.txt', path]) await ok(session.read(each));
  const { change } = await ok(session.write(path, 'two\n'));
  expect(await ok(session.status(path))).toMatchObject({ files: [{ path }] });
  const all = await ok(session.status());
  expect(all.files.map((file) => file.path).sort()).toEqual([path, 'a.txt'].sort());
  writeFileSync(path, 'by hand\n');
  const swept = await ok(session.witness({ kind: 'command', command: 'make' }));
  expect(swept.notices).toMatchObject([{ kind: 'changed-seen-files', paths: [path] }]);
  expect((await refusal(session.undo({ change }), 'STALE')).path).toBe(path);
  writeFileSync(path, 'two\n');
  const undone = await ok(session.undo({ change }));
  expect(undone).toMatchObject({ files: [{ path, did: 'restored' }] });
  expect(undone.diff).toMatch(new RegExp(`^${path}\n`));
});
