import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench, holding } from '../../test/support/disk.ts';
import { asNobody } from '../../test/support/nobody.ts';
import { recoverAll } from '../../test/support/recovery.ts';
import { IN_MEMORY, scratch, treeOf } from '../../test/support/tree.ts';
import { type CommitStep, loadNative } from './context.ts';
import type { Committed } from './publication.ts';
import { fingerprintOf, stampOf } from './read.ts';
import { type Conflict, replace } from './replace.ts';

const KINDS = loadNative() === undefined ? (['claim'] as const) : (['exchange', 'claim'] as const);
const root = process.getuid?.() === 0;

/** Lets other users write here. */
function openToAll(disk: Bench): void {
  const folders = [disk.base, disk.root, disk.home, join(disk.home, 'writers'), join(disk.home, 'retained')];
  for (const folder of folders) chmodSync(folder, 0o777);
}

async function put(disk: Bench, path: string, text = 'new', expected = 'old'): Promise<Committed> {
  const done = await replace(disk.context, disk.place(path), {
    bytes: Buffer.from(text),
    expected: holding(expected),
  });
  if (!done.ok) throw new Error(done.reason);
  return done;
}

async function tried(disk: Bench, path: string, expected = 'old'): Promise<Conflict> {
  const done = await replace(disk.context, disk.place(path), {
    bytes: Buffer.from('new'),
    expected: holding(expected),
  });
  if (done.ok) throw new Error('replaced');
  return done;
}

describe.each(KINDS)('replace by %s', (commit) => {
  it('puts the new bytes, keeps the old file, and says what is there now', async () => {
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

  it('compares by fingerprint where the bytes are no longer at hand', async () => {
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
  ])('leaves a file alone that holds %s', async (_what, text) => {
    const disk = bench([`f: ${text}`], { commit });
    const before = stampOf(lstatSync(join(disk.root, 'f'), { bigint: true }));
    expect(await tried(disk, 'f')).toEqual({ ok: false, reason: 'changed', retained: [] });
    expect(stampOf(lstatSync(join(disk.root, 'f'), { bigint: true }))).toEqual(before);
    expect([disk.names(), disk.retained()]).toEqual([['f'], []]);
  });

  it('refuses what is missing, no file, or a link that came later', async () => {
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

  it('replaces a file that its owner may not read, if it may open its own; the mode stays', async () => {
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
  ])('drops the special bits of %o and says so', async (mode, bits) => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), mode);
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([{ kind: 'mode-bits-dropped', bits }]);
    expect(statSync(join(disk.root, 'f')).mode & 0o7777).toBe(mode & 0o777);
  });

  it.skipIf(!root)('keeps the owner, where it may', async () => {
    const disk = bench(['f: old'], { commit });
    chownSync(join(disk.root, 'f'), 4711, 815);
    const done = await put(disk, 'f');
    expect(statSync(join(disk.root, 'f'))).toMatchObject({ uid: 4711, gid: 815 });
    expect(done.notices).toEqual([]);
  });

  it.skipIf(!root)('says so where the owner cannot be kept', async () => {
    const disk = bench(['f: old'], { commit });
    openToAll(disk);
    chmodSync(join(disk.root, 'f'), 0o666);
    const place = disk.place('f');
    const bytes = Buffer.from('new');
    const done = await asNobody(() => replace(disk.context, place, { bytes, expected: holding('old') }));
    expect(done).toMatchObject({ ok: true, notices: [{ kind: 'owner-changed' }] });
    expect(disk.text('f')).toBe('new');
  });

  it('leaves other hard links their bytes and counts them', async () => {
    const disk = bench(['f: old'], { commit });
    for (const name of ['g', 'h']) linkSync(join(disk.root, 'f'), join(disk.root, name));
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([{ kind: 'hard-links-broken', count: 2 }]);
    expect([disk.text('f'), disk.text('g'), disk.text('h')]).toEqual(['new', 'old', 'old']);
  });

  it.each([0o444, 0o555, 0o400, 0o000])('refuses a file of mode %o, also for root', async (mode) => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), mode);
    // A user without read permission gets `denied` instead of `read-only`.
    expect(['read-only', 'denied']).toContain((await tried(disk, 'f')).reason);
    expect(disk.names()).toEqual(['f']);
  });

  it('refuses with the errno what it may not read', async () => {
    const disk = bench(['f: old'], { commit });
    chmodSync(join(disk.root, 'f'), 0o200);
    const place = disk.place('f');
    const change = { bytes: Buffer.from('new'), expected: holding('old') };
    const done = await asNobody(() => replace(disk.context, place, change));
    expect(done).toMatchObject({ ok: false, reason: 'denied', errno: 'EACCES' });
  });

  it('never makes a private file readable for a moment', async () => {
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
    if (IN_MEMORY !== '/dev/shm') return;
    const home = scratch(IN_MEMORY).home;
    const disk = bench(['f: old'], { commit, home });
    chmodSync(join(disk.root, 'f'), 0o640);
    const done = await put(disk, 'f');
    expect(readFileSync(done.displaced ?? '', 'utf8')).toBe('old');
    expect(statSync(done.displaced ?? '').mode & 0o777).toBe(0o640);
    expect([disk.text('f'), disk.names()]).toEqual(['new', ['f']]);
  });

  it('keeps what is written into the old file later, on any file system', async () => {
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

describe.each(KINDS)('someone who acts while we %s', (commit) => {
  /** Calls `act` once, just before `step`. */
  async function meanwhile(
    step: CommitStep,
    act: (file: string, disk: Bench) => void,
  ): Promise<{ disk: Bench; done: Conflict }> {
    let acted = false;
    const disk: Bench = bench(['f: old'], {
      commit,
      trace: (now) => {
        if (now !== step || acted) return;
        acted = true;
        act(join(disk.root, 'f'), disk);
      },
    });
    return { disk, done: await tried(disk, 'f') };
  }

  it.each<[string, (file: string) => void, string]>([
    ['appends', (file) => writeFileSync(file, '!', { flag: 'a' }), 'old!'],
    ['rewrites', (file) => writeFileSync(file, 'odd'), 'odd'],
    [
      'renames another over it',
      (file) => {
        writeFileSync(`${file}.new`, 'theirs');
        renameSync(`${file}.new`, file);
      },
      'theirs',
    ],
    [
      'renames the same bytes over it',
      (file) => {
        writeFileSync(`${file}.new`, 'old');
        renameSync(`${file}.new`, file);
      },
      'old',
    ],
  ])('and %s after the comparison has won', async (_how, act, text) => {
    const { disk, done } = await meanwhile(commit, act);
    expect(done).toMatchObject({ reason: 'changed' });
    expect([disk.text('f'), disk.names()]).toEqual([text, ['f']]);
  });

  it('and deletes it has won: it stays deleted', async () => {
    const { disk, done } = await meanwhile(commit, (file) => rmSync(file));
    expect(done).toMatchObject({ reason: 'changed' });
    expect(disk.names()).toEqual([]);
  });

  it('and puts a folder in its place has won, and the folder is there', async () => {
    const { disk, done } = await meanwhile(commit, (file) => {
      rmSync(file);
      execFileSync('mkdir', ['-p', join(file, 'inner')]);
    });
    expect(done).toMatchObject({ reason: 'changed' });
    expect([disk.names(), disk.names('f')]).toEqual([['f'], ['inner']]);
  });

  it('and puts a link in its place has won, and the link is there', async () => {
    const { disk, done } = await meanwhile(commit, (file) => {
      rmSync(file);
      symlinkSync('elsewhere', file);
    });
    expect(done).toMatchObject({ reason: 'changed' });
    expect(lstatSync(join(disk.root, 'f')).isSymbolicLink()).toBe(true);
  });

  it('and changes bytes so that no time shows it, as a mapping can, has won', async () => {
    const { disk, done } = await meanwhile(commit, (file, { home }) => {
      const times = join(home, 'times');
      execFileSync('touch', ['-r', file, times]);
      writeFileSync(file, 'odd');
      execFileSync('touch', ['-r', times, file]);
    });
    expect(done).toMatchObject({ reason: 'changed' });
    expect(disk.text('f')).toBe('odd');
  });
});

describe.each(KINDS)('what someone writes into our file before it is taken back by %s', (commit) => {
  it('is kept in its folder if there is no other place for it, until the next start finds one', async () => {
    let isWritten = false;
    const disk: Bench = bench(['f: old'], {
      commit,
      owner: 'dead',
      trace: (step) => {
        if (step !== 'retain') return;
        if (!isWritten) writeFileSync(join(disk.root, 'f'), '!', { flag: 'a' });
        isWritten = true;
        throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
      },
    });
    await expect(put(disk, 'f')).rejects.toMatchObject({ code: 'IO_FAILED', reason: 'EMFILE' });
    expect(disk.text('f')).toBe('old');
    expect(treeOf(disk.root).map((line) => line.replace(/^.*: /, ''))).toEqual(['new!', 'old']);
    const later = bench([], {}, disk);
    recoverAll(later.workspace, later.context, disk.home);
    expect(treeOf(disk.root)).toEqual(['f: old']);
    expect(later.retained()).toContain('new!');
  });
});

describe.skipIf(loadNative() === undefined)('an exchange that is taken back', () => {
  /** Changes the file without changing its times, and calls `act` while our file has the name. */
  async function exposed(act: (file: string) => void): Promise<{ disk: Bench; done: Conflict }> {
    const disk: Bench = bench(['f: old'], {
      commit: 'exchange',
      trace: (step) => {
        const file = join(disk.root, 'f');
        const times = join(disk.home, 'times');
        if (step === 'exchange') {
          execFileSync('touch', ['-r', file, times]);
          writeFileSync(file, 'odd');
          execFileSync('touch', ['-r', times, file]);
        }
        if (step === 'verify') act(file);
      },
    });
    return { disk, done: await tried(disk, 'f') };
  }

  it('keeps our file for someone who opened it under the name and writes later', async () => {
    let late = -1;
    const { disk, done } = await exposed((file) => {
      expect(readFileSync(file, 'utf8')).toBe('new');
      late = openSync(file, 'a');
    });
    expect([done.reason, disk.text('f'), disk.names()]).toEqual(['changed', 'odd', ['f']]);
    writeSync(late, ' and late');
    closeSync(late);
    expect(disk.retained()).toContain('new and late');
  });

  it('keeps a copy of what it puts back, for someone who read ours may write over it', async () => {
    const { disk } = await exposed(() => {});
    writeFileSync(join(disk.root, 'f'), 'built on what was read');
    expect(disk.retained()).toContain('odd');
  });

  it('reports our file if someone has already written into it', async () => {
    const { done } = await exposed((file) => writeFileSync(file, '!', { flag: 'a' }));
    expect(done.retained.map((path) => readFileSync(path, 'utf8'))).toEqual(['odd', 'new!']);
  });

  it('leaves the name to a file that took it from ours, and keeps the one before', async () => {
    const { disk, done } = await exposed((file) => {
      writeFileSync(`${file}.x`, 'newest');
      renameSync(`${file}.x`, file);
    });
    expect([disk.text('f'), disk.names()]).toEqual(['newest', ['f']]);
    expect(done.retained.map((path) => readFileSync(path, 'utf8'))).toEqual(['odd', 'newest', 'odd']);
  });

  it('gives the name back after someone deleted ours', async () => {
    const { disk } = await exposed((file) => rmSync(file));
    expect([disk.text('f'), disk.names()]).toEqual(['odd', ['f']]);
  });
});

describe.skipIf(loadNative() === undefined)('extended attributes', () => {
  const native = createRequire(import.meta.url)('fs-native-extensions') as NonNullable<
    ReturnType<typeof loadNative>
  >;

  function withFile<T>(path: string, work: (fd: number) => T): T {
    const fd = openSync(path, 'r+');
    try {
      return work(fd);
    } finally {
      closeSync(fd);
    }
  }

  it('are kept', async () => {
    const disk = bench(['f: old']);
    const file = join(disk.root, 'f');
    withFile(file, (fd) => {
      for (const name of ['user.one', 'user.two'])
        native.setAttrSync(fd, name, Buffer.from(`value of ${name}`));
    });
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([]);
    const kept = withFile(file, (fd) =>
      [...native.listAttrsSync(fd)].map((name) => `${native.getAttrSync(fd, name)}`),
    );
    expect(kept.sort()).toEqual(['value of user.one', 'value of user.two']);
  });

  it.skipIf(!root)('that give rights are dropped like setuid', async () => {
    const disk = bench(['f: old']);
    const file = join(disk.root, 'f');
    // A valid capability value: version 2, effective, cap_net_raw.
    const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex');
    withFile(file, (fd) => native.setAttrSync(fd, 'security.capability', capability));
    const done = await put(disk, 'f');
    expect(done.notices).toEqual([{ kind: 'mode-bits-dropped', bits: 'capabilities' }]);
    expect(withFile(file, (fd) => [...native.listAttrsSync(fd)])).toEqual([]);
  });

  it.skipIf(!root)('that cannot be set are reported, and the others kept', async () => {
    const disk = bench(['f: old']);
    const file = join(disk.root, 'f');
    openToAll(disk);
    chownSync(file, 65534, 0);
    withFile(file, (fd) => {
      native.setAttrSync(fd, 'trusted.secret', Buffer.from('x'));
      native.setAttrSync(fd, 'security.label', Buffer.from('x'));
      native.setAttrSync(fd, 'user.kept', Buffer.from('x'));
    });
    const place = disk.place('f');
    const bytes = Buffer.from('new');
    const done = await asNobody(() => replace(disk.context, place, { bytes, expected: holding('old') }));
    expect(done).toMatchObject({ ok: true, notices: [{ kind: 'xattrs-lost' }] });
    expect(withFile(file, (fd) => [...native.listAttrsSync(fd)])).toEqual(['user.kept']);
  });
});
