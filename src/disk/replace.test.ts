import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench, holding, openToAll, put, tried } from '../../test/support/disk.ts';
import { asNobody } from '../../test/support/nobody.ts';
import { HAS_MEMORY, IN_MEMORY, scratch } from '../../test/support/tree.ts';
import { loadNative } from './context.ts';
import { fingerprintOf, stampOf } from './read.ts';
import { replace } from './replace.ts';

const KINDS = loadNative() === undefined ? (['claim'] as const) : (['exchange', 'claim'] as const);
const root = process.getuid?.() === 0;

describe.each(KINDS)('replace by %s', (commit) => {
  it('writes the new bytes, keeps the old file, and reports the new one', async () => {
    const disk = bench(['d/f: old'], { commit });
    const old = lstatSync(join(disk.root, 'd/f')).ino;
    const done = await put(disk, 'd/f');
    expect(disk.text('d/f')).toBe('new');
    expect(disk.names('d')).toEqual(['f']);
    expect(lstatSync(done.displaced ?? '').ino).toBe(old);
    expect(readFileSync(done.displaced ?? '', 'utf8')).toBe('old');
    expect(done.fingerprint).toEqual(fingerprintOf(Buffer.from('new')));
    expect(done.stamp).toEqual(stampOf(lstatSync(join(disk.root, 'd/f'), { bigint: true })));
    expect(done.notices).toEqual([]);
  });

  it.each<[string, number]>([
    ['nothing', 0],
    ['more than is written at once', (1 << 20) + 7],
  ])('writes %s', async (_what, size) => {
    const disk = bench(['f: old'], { commit, durability: 'full' });
    const text = 'x'.repeat(size);
    await put(disk, 'f', text);
    expect(disk.text('f')).toBe(text);
  });

  it('compares by fingerprint if the bytes are not available', async () => {
    const disk = bench(['f: old'], { commit });
    const change = { bytes: Buffer.from('new'), expected: { fingerprint: holding('old').fingerprint } };
    expect(await replace(disk.context, disk.place('f'), change)).toMatchObject({ ok: true });
    expect(await replace(disk.context, disk.place('f'), change)).toMatchObject({
      ok: false,
      reason: 'changed',
    });
  });

  it.each<[string, string]>([
    ['other bytes', 'odd'],
    ['fewer bytes', 'ol'],
    ['more bytes', 'older'],
    ['no bytes', ''],
  ])('does not replace a file that holds %s', async (_what, text) => {
    const disk = bench([`f: ${text}`], { commit });
    const before = stampOf(lstatSync(join(disk.root, 'f'), { bigint: true }));
    expect(await tried(disk, 'f')).toEqual({ ok: false, reason: 'changed', retained: [] });
    expect(stampOf(lstatSync(join(disk.root, 'f'), { bigint: true }))).toEqual(before);
    expect([disk.names(), disk.retained()]).toEqual([['f'], []]);
  });

  it('refuses a missing file, a file of another kind, and a link that appeared later', async () => {
    const disk = bench(['d/', 'f: old', 'g: old'], { commit });
    expect(await tried(disk, 'missing')).toMatchObject({ reason: 'missing' });
    expect(await tried(disk, 'd')).toMatchObject({ reason: 'kind', kind: 'directory' });
    const place = disk.place('f');
    rmSync(join(disk.root, 'f'));
    symlinkSync('g', join(disk.root, 'f'));
    const change = { bytes: Buffer.from('new'), expected: holding('old') };
    expect(await replace(disk.context, place, change)).toMatchObject({ reason: 'changed' });
    expect(disk.text('g')).toBe('old');
  });

  it('writes through a link to its target, and keeps the link', async () => {
    const disk = bench(['d/f: old', 'l => d/f'], { commit });
    await put(disk, 'l');
    expect(lstatSync(join(disk.root, 'l')).isSymbolicLink()).toBe(true);
    expect([disk.text('d/f'), disk.names('d'), disk.names()]).toEqual(['new', ['f'], ['d', 'l']]);
  });

  it.each([0o600, 0o644, 0o755, 0o640])('keeps the mode %o', async (mode) => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), mode);
    const done = await put(disk, 'f');
    expect(done.mode).toBe(mode);
    expect(statSync(join(disk.root, 'f')).mode & 0o7777).toBe(mode);
  });

  it('replaces a file of this user without read permission if opensOwn is set, and keeps its mode', async () => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), 0o222);
    const change = { bytes: Buffer.from('new'), expected: holding('old') };
    const place = { ...disk.place('f'), opensOwn: true } as const;
    const done = await replace(disk.context, place, change);
    if (!done.ok) throw new Error(done.reason);
    expect([done.mode, statSync(join(disk.root, 'f')).mode & 0o7777]).toEqual([0o222, 0o222]);
    expect(readFileSync(done.displaced ?? '', 'utf8')).toBe('old');
  });

  it.each<[number, string]>([
    [0o4755, 'setuid'],
    [0o2755, 'setgid'],
    [0o6711, 'setuid, setgid'],
    [0o1644, 'sticky'],
  ])('drops the special bits of %o and reports it', async (mode, bits) => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), mode);
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([{ kind: 'mode-bits-dropped', bits }]);
    expect(statSync(join(disk.root, 'f')).mode & 0o7777).toBe(mode & 0o777);
  });

  it.skipIf(!root)('keeps the owner if it may', async () => {
    const disk = bench(['f: old'], { commit });
    chownSync(join(disk.root, 'f'), 4711, 815);
    const done = await put(disk, 'f');
    expect(statSync(join(disk.root, 'f'))).toMatchObject({ uid: 4711, gid: 815 });
    expect(done.notices).toEqual([]);
  });

  it.skipIf(!root)('reports that the owner cannot be kept', async () => {
    const disk = bench(['f: old'], { commit });
    openToAll(disk);
    chmodSync(join(disk.root, 'f'), 0o666);
    const place = disk.place('f');
    const bytes = Buffer.from('new');
    const done = await asNobody(() => replace(disk.context, place, { bytes, expected: holding('old') }));
    expect(done).toMatchObject({ ok: true, notices: [{ kind: 'owner-changed' }] });
    expect(disk.text('f')).toBe('new');
  });

  it('does not change the bytes of other hard links, and counts them', async () => {
    const disk = bench(['f: old'], { commit });
    for (const name of ['g', 'h']) linkSync(join(disk.root, 'f'), join(disk.root, name));
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([{ kind: 'hard-links-broken', count: 2 }]);
    expect([disk.text('f'), disk.text('g'), disk.text('h')]).toEqual(['new', 'old', 'old']);
  });

  it.each([0o444, 0o555, 0o400, 0o000])('refuses a file of mode %o, even for root', async (mode) => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), mode);
    // A user without read permission gets `denied` instead of `read-only`.
    expect(['read-only', 'denied']).toContain((await tried(disk, 'f')).reason);
    expect(disk.names()).toEqual(['f']);
  });

  it('refuses a file that it may not read, with the errno', async () => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), 0o200);
    const place = disk.place('f');
    const change = { bytes: Buffer.from('new'), expected: holding('old') };
    const done = await asNobody(() => replace(disk.context, place, change));
    expect(done).toMatchObject({ ok: false, reason: 'denied', errno: 'EACCES' });
  });

  it('never makes a private file readable, even briefly', async () => {
    const modes: number[] = [];
    const disk: Bench = bench(['f: old'], {
      commit,
      trace: () => {
        for (const name of disk.names()) modes.push(statSync(join(disk.root, name)).mode & 0o077);
      },
    });
    chmodSync(join(disk.root, 'f'), 0o600);
    await put(disk, 'f');
    expect(modes.length).toBeGreaterThan(5);
    expect(new Set(modes)).toEqual(new Set([0]));
  });

  it('keeps the old file on another file system as a copy, with its mode', async () => {
    if (!HAS_MEMORY) return;
    const home = scratch(IN_MEMORY).home;
    const disk = bench(['f: old'], { commit, home });
    chmodSync(join(disk.root, 'f'), 0o640);
    const done = await put(disk, 'f');
    expect(readFileSync(done.displaced ?? '', 'utf8')).toBe('old');
    expect(statSync(done.displaced ?? '').mode & 0o777).toBe(0o640);
    expect([disk.text('f'), disk.names()]).toEqual(['new', ['f']]);
  });

  it('keeps later writes to the old file, on any file system', async () => {
    for (const home of [scratch().home, scratch(IN_MEMORY).home]) {
      const disk = bench(['f: old'], { commit, home });
      const late = openSync(join(disk.root, 'f'), 'a');
      await put(disk, 'f');
      writeSync(late, ' and late');
      closeSync(late);
      disk.context.held.close();
      expect(disk.retained()).toContain('old and late');
      expect(disk.text('f')).toBe('new');
    }
  });
});
