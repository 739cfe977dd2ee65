import { chmodSync, existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bench, holding, put } from '../../test/support/disk.ts';
import { IN_MEMORY, scratch } from '../../test/support/tree.ts';
import type { DiskContext } from './context.ts';
import { remove } from './remove.ts';
import { putBackFile, returnRetained } from './replace.ts';

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

describe('putBackFile', () => {
  it.each<[string, string]>([
    ['EINVAL', 'unavailable'],
    ['EIO', 'failed'],
  ])('keeps the old file outside the workspace if names cannot be exchanged (%s)', async (code, expected) => {
    const disk = bench(['f: old']);
    const { displaced = '' } = await put(disk, 'f');
    const failing = (): never => {
      throw Object.assign(new Error(code), { code });
    };
    // The other functions of the native helper are not needed here.
    const native = { swapSync: failing } as unknown as NonNullable<DiskContext['native']>;
    const context = { ...disk.context, native };
    const back = putBackFile(context, disk.place('f'), { displaced, ours: holding('new').fingerprint });
    expect(await back.catch(() => 'failed')).toBe(expected);
    expect([disk.names(), disk.text('f'), readFileSync(displaced, 'utf8')]).toEqual([['f'], 'new', 'old']);
  });
});
