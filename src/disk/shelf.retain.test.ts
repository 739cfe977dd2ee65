import { hash } from 'node:crypto';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { startChild } from '../../test/support/child.ts';
import { bench } from '../../test/support/disk.ts';
import { HAS_MEMORY, IN_MEMORY, scratch } from '../../test/support/tree.ts';
import { HeldFiles } from './held-files.ts';
import { retain, retainBytes } from './shelf.ts';

/**
 * The path of the second copy of a replaced file. `retain` made the first copy at the path `kept`,
 * with the content `held`. The second copy is made if a program writes to the file after that.
 */
function lateName(kept: string, held: string): string {
  return `${kept}-late-${hash('sha256', held)}`;
}

describe('retain', () => {
  it('moves the inode of any kind of file, on one file system', () => {
    const disk = bench(['f: x', 'd/g', 'l => nowhere']);
    for (const name of ['f', 'd', 'l']) {
      const { ino } = lstatSync(join(disk.root, name));
      expect(lstatSync(retain(disk.context, join(disk.root, name))).ino).toBe(ino);
    }
    expect(disk.names()).toEqual([]);
  });

  it('never gives two files the same name', () => {
    const disk = bench([]);
    const kept = Array.from({ length: 500 }, (_, index) =>
      retainBytes(disk.context, Buffer.from(`${index}`)),
    );
    expect(new Set(kept).size).toBe(500);
    expect(readdirSync(join(disk.home, 'retained'))).toHaveLength(500);
  });

  it('makes its folder private', () => {
    const disk = bench([]);
    expect(lstatSync(join(disk.home, 'retained')).mode & 0o077).toBe(0);
  });
});

describe.skipIf(!HAS_MEMORY)('retain on another file system', () => {
  it('copies the file, and keeps later writes to the original as a second copy', () => {
    const disk = bench(['f: one'], { home: scratch(IN_MEMORY).home });
    const writer = openSync(join(disk.root, 'f'), 'a');
    const kept = retain(disk.context, join(disk.root, 'f'));
    expect([readFileSync(kept, 'utf8'), disk.names()]).toEqual(['one', []]);
    writeSync(writer, ' two');
    closeSync(writer);
    disk.context.held.close();
    expect(disk.retained().sort()).toEqual(['one', 'one two']);
    expect(readFileSync(lateName(kept, 'one'), 'utf8')).toBe('one two');
  });

  it('keeps a single copy if the original is not written again', () => {
    const disk = bench(['f: one'], { home: scratch(IN_MEMORY).home });
    retain(disk.context, join(disk.root, 'f'));
    disk.context.held.close();
    expect(disk.retained()).toEqual(['one']);
  });

  it('keeps late writes even after the copy was moved', () => {
    const disk = bench(['f: one'], { home: scratch(IN_MEMORY).home });
    const writer = openSync(join(disk.root, 'f'), 'a');
    rmSync(retain(disk.context, join(disk.root, 'f')));
    writeSync(writer, ' two');
    closeSync(writer);
    disk.context.held.close();
    expect(disk.retained()).toEqual(['one two']);
  });

  it('ignores a late write that cannot be kept', () => {
    const disk = bench(['f: one'], { home: scratch(IN_MEMORY).home });
    const writer = openSync(join(disk.root, 'f'), 'a');
    const kept = retain(disk.context, join(disk.root, 'f'));
    mkdirSync(lateName(kept, 'one'));
    writeSync(writer, ' two');
    closeSync(writer);
    expect(() => disk.context.held.close()).not.toThrow();
    rmdirSync(lateName(kept, 'one'));
  });

  it('holds a file open only for a while, even without further changes', async () => {
    const disk = bench(['f: one', 'g: one'], { home: scratch(IN_MEMORY).home });
    const context = { ...disk.context, held: new HeldFiles(1) };
    const writer = openSync(join(disk.root, 'f'), 'a');
    for (const name of ['f', 'g']) retain(context, join(disk.root, name));
    writeSync(writer, ' two');
    closeSync(writer);
    await vi.waitFor(() => expect(disk.retained()).toHaveLength(3));
    expect(openIn(disk.root)).toEqual([]);
    expect(disk.retained().sort()).toEqual(['one', 'one', 'one two']);
  });

  it('holds a bounded number of files open', () => {
    const disk = bench([], { home: scratch(IN_MEMORY).home });
    const before = readdirSync('/proc/self/fd').length;
    for (let file = 0; file < 300; file += 1) {
      writeFileSync(join(disk.root, 'f'), `${file}`);
      retain(disk.context, join(disk.root, 'f'));
    }
    expect(readdirSync('/proc/self/fd').length - before).toBeLessThanOrEqual(64);
    disk.context.held.close();
    expect(readdirSync('/proc/self/fd').length).toBe(before);
    expect(disk.retained()).toHaveLength(300);
  });

  it('does not move a folder, which cannot be copied in one step', () => {
    const disk = bench(['d/f'], { home: scratch(IN_MEMORY).home });
    expect(() => retain(disk.context, join(disk.root, 'd'))).toThrow(/EISDIR/);
    expect(disk.names('d')).toEqual(['f']);
  });

  it('keeps late writes even if no further file can be opened', async () => {
    const [{ root }, { home }] = [scratch(), scratch(IN_MEMORY)];
    const limited = ['sh', '-c', 'ulimit -n 200 && exec "$0" "$@"'];
    const child = await startChild('kernel-no-descriptors', { root, home }, limited);
    expect(await child.message()).toEqual({ error: 'EMFILE', retained: ['one', 'one two'] });
  });
});

/** The files this process has open in a folder, including deleted ones. */
function openIn(folder: string): string[] {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // Skip the descriptor with which this listing was made: it is already closed.
      return '';
    }
  });
  return links.filter((link) => link.startsWith(`${folder}/`));
}
