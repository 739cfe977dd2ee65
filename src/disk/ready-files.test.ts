import {
  chmodSync,
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Bench, bench, holding, put, tried } from '../../test/support/disk.ts';
import { HAS_MEMORY, IN_MEMORY, scratch } from '../../test/support/tree.ts';
import { loadNative, type NativeFiles } from './context.ts';
import { stampOf } from './read.ts';
import { dropReadyFiles } from './ready-files.ts';
import { replace } from './replace.ts';

const isRoot = process.getuid?.() === 0;

function ready(disk: Bench): Map<bigint, string> {
  const folder = join(disk.home, 'ready');
  return new Map(
    readdirSync(folder).map((name) => [lstatSync(join(folder, name), { bigint: true }).ino, name]),
  );
}

function inodeOf(disk: Bench, path: string): bigint {
  return lstatSync(join(disk.root, path), { bigint: true }).ino;
}

async function filled(tree: readonly string[] = ['f: old']): Promise<Bench> {
  const disk = bench(tree);
  await disk.context.ready?.fill();
  return disk;
}

describe.skipIf(loadNative() === undefined)('ready files', () => {
  it('become the new file of a replacement, with its bytes, mode and time', async () => {
    const disk = await filled();
    chmodSync(join(disk.root, 'f'), 0o640);
    const before = ready(disk);
    const done = await put(disk, 'f');
    expect(before.has(inodeOf(disk, 'f'))).toBe(true);
    expect(disk.text('f')).toBe('new');
    expect(disk.names()).toEqual(['f']);
    expect(disk.retained()).toEqual(['old']);
    expect(done).toMatchObject({ mode: 0o640, notices: [] });
    expect(done.stamp).toEqual(stampOf(lstatSync(join(disk.root, 'f'), { bigint: true })));
  });

  it('are private before they are used', async () => {
    const disk = await filled();
    const folder = join(disk.home, 'ready');
    expect(lstatSync(folder).mode & 0o777).toBe(0o700);
    const modes = readdirSync(folder).map((name) => lstatSync(join(folder, name)).mode & 0o777);
    expect(new Set(modes)).toEqual(new Set([0o600]));
  });

  it('are made from the second replacement on, and made again when used', async () => {
    const disk = bench(['f: old']);
    await put(disk, 'f', 'one');
    expect(readdirSync(disk.home)).not.toContain('ready');
    await put(disk, 'f', 'two', 'one');
    await disk.context.ready?.fill();
    const count = ready(disk).size;
    await put(disk, 'f', 'three', 'two');
    await disk.context.ready?.fill();
    expect(ready(disk).size).toBe(count);
    expect(count).toBeGreaterThan(1);
  });

  it('are made again only when few are left', async () => {
    const disk = await filled();
    const count = ready(disk).size;
    const contents = Array.from({ length: count }, (_, n) => `content ${n}`);
    let last = 'old';
    const left: number[] = [];
    for (const content of contents) {
      await put(disk, 'f', content, last);
      await sleep(5);
      left.push(ready(disk).size);
      last = content;
    }
    expect(left.slice(0, count / 2)).toEqual(Array.from({ length: count / 2 }, (_, n) => count - 1 - n));
    await disk.context.ready?.fill();
    expect(ready(disk).size).toBeGreaterThan(count / 2);
  });

  it('leave nothing behind after a conflict', async () => {
    const disk = await filled(['f: other']);
    expect(await tried(disk, 'f')).toMatchObject({ reason: 'changed' });
    expect(disk.names()).toEqual(['f']);
    expect(disk.text('f')).toBe('other');
  });

  it('are not used for empty content, whose time no write would set', async () => {
    const disk = await filled();
    const before = ready(disk);
    await put(disk, 'f', '');
    expect(before.has(inodeOf(disk, 'f'))).toBe(false);
  });

  it('are not used for a file with attributes', async () => {
    const native = createRequire(import.meta.url)('fs-native-extensions') as NativeFiles;
    const disk = await filled();
    const before = ready(disk);
    const fd = openSync(join(disk.root, 'f'), 'r+');
    native.setAttrSync(fd, 'user.one', Buffer.from('1'));
    closeSync(fd);
    await put(disk, 'f');
    expect(before.has(inodeOf(disk, 'f'))).toBe(false);
  });

  it.skipIf(!isRoot)('are not used for a file of another user', async () => {
    const disk = await filled();
    const before = ready(disk);
    chownSync(join(disk.root, 'f'), 65534, 65534);
    await put(disk, 'f');
    expect(before.has(inodeOf(disk, 'f'))).toBe(false);
    expect(lstatSync(join(disk.root, 'f'))).toMatchObject({ uid: 65534, gid: 65534 });
  });

  it.skipIf(!HAS_MEMORY)('are not used on another file system', async () => {
    const elsewhere = scratch(IN_MEMORY);
    const disk = bench(['f: old'], { home: scratch().home }, elsewhere);
    await disk.context.ready?.fill();
    await put(disk, 'f');
    expect(disk.text('f')).toBe('new');
  });

  it('are not needed: a change makes its own file if they are gone or cannot be made', async () => {
    const disk = await filled();
    rmSync(join(disk.home, 'ready'), { recursive: true });
    await put(disk, 'f', 'one');
    writeFileSync(join(disk.home, 'ready'), '');
    await put(disk, 'f', 'two', 'one');
    await disk.context.ready?.fill();
    await put(disk, 'f', 'three', 'two');
    expect(disk.text('f')).toBe('three');
    expect(disk.names()).toEqual(['f']);
  });

  it('disappear with their process, even if it closes while they are made', async () => {
    const disk = await filled();
    await disk.context.ready?.close();
    expect(ready(disk).size).toBe(0);
    const other = bench(['f: old']);
    void other.context.ready?.fill();
    await other.context.ready?.close();
    expect(ready(other).size).toBe(0);
  });

  it('of a dead process are removed, those of a living one stay', () => {
    const { home } = scratch();
    mkdirSync(join(home, 'ready'), { recursive: true });
    for (const name of ['1+2+ab-1', '1+2+ab-z', '3+4+cd-1']) writeFileSync(join(home, 'ready', name), '');
    dropReadyFiles(home, (owner) => owner === '3+4+cd');
    expect(readdirSync(join(home, 'ready'))).toEqual(['3+4+cd-1']);
  });

  it('give the same files and answers as files made at once', async () => {
    const modes = [0o600, 0o644, 0o755, 0o4755, 0o444];
    const texts = ['', 'new', 'x'.repeat(70_000), 'ü\r\n'];
    for (const mode of modes)
      for (const text of texts) {
        const answers = [];
        for (const disk of [await filled(), bench(['f: old'])]) {
          chmodSync(join(disk.root, 'f'), mode);
          const expected = { ...holding('old'), evenReadOnly: true };
          const done = await replace(disk.context, disk.place('f'), { bytes: Buffer.from(text), expected });
          if (!done.ok) throw new Error(done.reason);
          const { displaced: _path, stamp: _stamp, left, ...answer } = done;
          const found = { text: disk.text('f'), retained: disk.retained(), names: disk.names() };
          answers.push({ ...answer, ...found, leftMode: left?.mode });
        }
        expect(answers[0]).toEqual(answers[1]);
      }
  });
});
