import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench, type CommitStep, holding } from '../../test/support/disk.ts';
import { IN_MEMORY, scratch } from '../../test/support/tree.ts';
import { remove, removeLink } from './remove.ts';

/**
 * A workspace with the files of `tree`. The first change made in it calls `act`, with the path of
 * the file `f`, just before its `step`.
 */
function meanwhile(tree: readonly string[], step: CommitStep, act: (file: string) => void): Bench {
  let acted = false;
  const disk: Bench = bench(tree, {
    trace: (now) => {
      if (now !== step || acted) return;
      acted = true;
      act(join(disk.root, 'f'));
    },
  });
  return disk;
}

function renameOver(file: string): void {
  writeFileSync(`${file}.new`, 'theirs');
  renameSync(`${file}.new`, file);
}

describe('remove', () => {
  it('moves the file out of the workspace and keeps it', async () => {
    const disk = bench(['d/f: old'], { durability: 'full' });
    chmodSync(join(disk.root, 'd/f'), 0o640);
    const { ino } = lstatSync(join(disk.root, 'd/f'));
    const done = await remove(disk.context, disk.place('d/f'), holding('old'));
    if (!done.ok) throw new Error(done.reason);
    expect(disk.names('d')).toEqual([]);
    expect(done.mode).toBe(0o640);
    expect(lstatSync(done.displaced ?? '').ino).toBe(ino);
  });

  it('keeps a copy, and late writes, if our folder is on another file system', async () => {
    const disk = bench(['f: old'], { home: scratch(IN_MEMORY).home });
    const late = openSync(join(disk.root, 'f'), 'a');
    const done = await remove(disk.context, disk.place('f'), holding('old'));
    if (!done.ok) throw new Error(done.reason);
    expect(readFileSync(done.displaced ?? '', 'utf8')).toBe('old');
    writeSync(late, ' late');
    closeSync(late);
    disk.context.held.close();
    expect(disk.retained()).toContain('old late');
  });

  it.each<[string, string, object]>([
    ['other bytes', 'f: odd', { reason: 'changed' }],
    ['nothing', 'g', { reason: 'missing' }],
    ['a folder', 'f/', { reason: 'kind', kind: 'directory' }],
    ['a link', 'f => g', { reason: 'changed' }],
  ])('does not remove a file that is %s', async (_what, tree, expected) => {
    const disk = bench([tree]);
    const before = disk.names();
    expect(await remove(disk.context, disk.place('f', 'parents'), holding('old'))).toMatchObject({
      ok: false,
      ...expected,
    });
    expect([disk.names(), disk.retained()]).toEqual([before, []]);
  });

  it.each([0o444, 0o555])('refuses a file of mode %o, even for root', async (mode) => {
    const disk = bench(['f: old']);
    chmodSync(join(disk.root, 'f'), mode);
    expect(await remove(disk.context, disk.place('f'), holding('old'))).toMatchObject({
      reason: 'read-only',
    });
    expect(disk.names()).toEqual(['f']);
  });

  it.each<[string, (file: string) => void, string]>([
    ['appends', (file) => writeFileSync(file, '!', { flag: 'a' }), 'old!'],
    ['renames another over it', renameOver, 'theirs'],
  ])('restores the name if another process %s after the comparison', async (_how, act, text) => {
    const disk = meanwhile(['f: old'], 'claim', act);
    const done = await remove(disk.context, disk.place('f'), holding('old'));
    expect(done).toEqual({ ok: false, reason: 'changed', retained: [] });
    expect([disk.text('f'), disk.names()]).toEqual([text, ['f']]);
  });

  it('restores a folder that took the name', async () => {
    const disk = meanwhile(['f: old'], 'claim', (file) => {
      rmSync(file);
      mkdirSync(join(file, 'inner'), { recursive: true });
    });
    expect(await remove(disk.context, disk.place('f'), holding('old'))).toMatchObject({ reason: 'changed' });
    expect([disk.names(), disk.names('f')]).toEqual([['f'], ['inner']]);
  });

  it('does not replace a new file that takes the name at once', async () => {
    const disk = meanwhile(['f: old'], 'verify', (file) => writeFileSync(file, 'newcomer'));
    expect(await remove(disk.context, disk.place('f'), holding('old'))).toMatchObject({ ok: true });
    expect([disk.text('f'), disk.retained()]).toEqual(['newcomer', ['old']]);
  });

  it('keeps a changed file whose name another file has taken, and reports its path', async () => {
    const disk: Bench = bench(['f: old'], {
      trace: (step) => {
        const file = join(disk.root, 'f');
        if (step === 'claim') writeFileSync(file, 'changed');
        if (step === 'verify') writeFileSync(file, 'newcomer');
      },
    });
    const done = await remove(disk.context, disk.place('f'), holding('old'));
    if (done.ok) throw new Error('removed');
    expect([done.reason, done.retained.map((path) => readFileSync(path, 'utf8'))]).toEqual([
      'changed',
      ['changed'],
    ]);
    expect([disk.text('f'), disk.names()]).toEqual(['newcomer', ['f']]);
  });
});

describe('removeLink', () => {
  it('removes the link and never its target', async () => {
    const disk = bench([
      'f: text',
      'd/inner',
      'OUTSIDE/x',
      'a => f',
      'b => d',
      'c => OUTSIDE/x',
      'e => nowhere',
    ]);
    for (const [name, target] of [
      ['a', 'f'],
      ['b', 'd'],
      ['c', join(disk.outside, 'x')],
      ['e', 'nowhere'],
    ] as const) {
      expect(await removeLink(disk.context, disk.place(name, 'parents'), target)).toMatchObject({ ok: true });
    }
    expect([disk.names(), disk.text('f'), disk.names('d')]).toEqual([['d', 'f'], 'text', ['inner']]);
    expect(readFileSync(join(disk.outside, 'x'), 'utf8')).toBe('OUTSIDE/x');
  });

  it.each<[string, string, string]>([
    ['points elsewhere', 'f => other', 'changed'],
    ['is a file', 'f: text', 'changed'],
    ['is a folder', 'f/', 'changed'],
    ['is gone', 'g', 'missing'],
  ])('does not remove an entry that %s', async (_what, tree, reason) => {
    const disk = bench([tree]);
    const before = disk.names();
    expect(await removeLink(disk.context, disk.place('f', 'parents'), 'target')).toMatchObject({ reason });
    expect(disk.names()).toEqual(before);
  });

  it('restores a file that took the name after the check', async () => {
    const disk = meanwhile(['f => target'], 'claim', renameOver);
    expect(await removeLink(disk.context, disk.place('f', 'parents'), 'target')).toMatchObject({
      reason: 'changed',
    });
    expect([disk.text('f'), disk.names()]).toEqual(['theirs', ['f']]);
  });

  it('restores a link that has another target now', async () => {
    const disk = meanwhile(['f => target'], 'claim', (file) => {
      rmSync(file);
      symlinkSync('other', file);
    });
    expect(await removeLink(disk.context, disk.place('f', 'parents'), 'target')).toMatchObject({
      reason: 'changed',
    });
    expect(lstatSync(join(disk.root, 'f')).isSymbolicLink()).toBe(true);
  });
});
