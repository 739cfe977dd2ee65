import { chmodSync, existsSync, lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench, holding } from '../../test/support/disk.ts';
import { IN_MEMORY, scratch } from '../../test/support/tree.ts';
import { returnRetained } from './put-back.ts';
import { remove } from './remove.ts';

describe.each([
  ['the same file system', undefined],
  ['another file system', IN_MEMORY],
])('returnRetained from %s', (_where, parent) => {
  it('restores the name and mode of a removed file', async () => {
    const disk = bench(['f: text'], { home: scratch(parent).home });
    chmodSync(join(disk.root, 'f'), 0o750);
    const place = disk.place('f');
    const done = await remove(disk.context, place, holding('text'));
    if (!done.ok || done.displaced === undefined) throw new Error('not removed');
    expect(returnRetained(done.displaced, place)).toBe(true);
    expect([disk.text('f'), disk.names(), existsSync(done.displaced)]).toEqual(['text', ['f'], false]);
    expect(statSync(join(disk.root, 'f')).mode & 0o7777).toBe(0o750);
    expect(lstatSync(join(disk.root, 'f')).nlink).toBe(1);
  });

  it('does not replace a file that has taken the name, and keeps ours', async () => {
    const disk = bench(['f: text', 'g: theirs'], { home: scratch(parent).home });
    const done = await remove(disk.context, disk.place('f'), holding('text'));
    if (!done.ok || done.displaced === undefined) throw new Error('not removed');
    expect(returnRetained(done.displaced, disk.place('g'))).toBe(false);
    expect([disk.text('g'), existsSync(done.displaced)]).toEqual(['theirs', true]);
  });
});
