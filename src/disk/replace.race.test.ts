import { execFileSync } from 'node:child_process';
import {
  closeSync,
  lstatSync,
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
import { type Bench, bench, type CommitStep, put, tried } from '../../test/support/disk.ts';
import { recoverAll } from '../../test/support/recovery.ts';
import { treeOf } from '../../test/support/tree.ts';
import { loadNative } from './context.ts';
import type { Conflict } from './replace.ts';

const KINDS = loadNative() === undefined ? (['claim'] as const) : (['exchange', 'claim'] as const);

describe.each(KINDS)('another process that acts while we %s', (commit) => {
  /** Replaces a file and calls `act` once, just before the given step of the commit. */
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
  ])('and %s after the comparison wins', async (_how, act, text) => {
    const { disk, done } = await meanwhile(commit, act);
    expect(done).toMatchObject({ reason: 'changed' });
    expect([disk.text('f'), disk.names()]).toEqual([text, ['f']]);
  });

  it('and deletes the file wins: it stays deleted', async () => {
    const { disk, done } = await meanwhile(commit, (file) => rmSync(file));
    expect(done).toMatchObject({ reason: 'changed' });
    expect(disk.names()).toEqual([]);
  });

  it('and puts a folder in place of the file wins: the folder stays', async () => {
    const { disk, done } = await meanwhile(commit, (file) => {
      rmSync(file);
      execFileSync('mkdir', ['-p', join(file, 'inner')]);
    });
    expect(done).toMatchObject({ reason: 'changed' });
    expect([disk.names(), disk.names('f')]).toEqual([['f'], ['inner']]);
  });

  it('and puts a link in place of the file wins: the link stays', async () => {
    const { disk, done } = await meanwhile(commit, (file) => {
      rmSync(file);
      symlinkSync('elsewhere', file);
    });
    expect(done).toMatchObject({ reason: 'changed' });
    expect(lstatSync(join(disk.root, 'f')).isSymbolicLink()).toBe(true);
  });

  it('and changes bytes without changing a time, as a memory mapping can, wins', async () => {
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

describe.each(KINDS)(
  'bytes that another process writes into our file before it is taken back by %s',
  (commit) => {
    it('stay in their folder if there is no other place, until the next start finds one', async () => {
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
      recoverAll(later.workspace, later.context, { change: 'dead', paths: ['f'] });
      expect(treeOf(disk.root)).toEqual(['f: old']);
      expect(later.retained()).toContain('new!');
    });
  },
);

describe.skipIf(loadNative() === undefined)('an exchange that is reversed', () => {
  /**
   * Replaces a file. Just before the exchange of names, another program changes the bytes of the
   * old file and resets its times. So the commit notices the change only after our file has got the
   * name. Calls `act` at that moment.
   */
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

  it('keeps our file for a process that opened it under the name and writes later', async () => {
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

  it('keeps a copy of the file it puts back, because a process that read ours may overwrite it', async () => {
    const { disk } = await exposed(() => {});
    writeFileSync(join(disk.root, 'f'), 'built on what was read');
    expect(disk.retained()).toContain('odd');
  });

  it('reports our file if another process has already written into it', async () => {
    const { done } = await exposed((file) => writeFileSync(file, '!', { flag: 'a' }));
    expect(done.retained.map((path) => readFileSync(path, 'utf8'))).toEqual(['odd', 'new!']);
  });

  it('leaves the name to a file that replaced ours, and keeps the previous one', async () => {
    const { disk, done } = await exposed((file) => {
      writeFileSync(`${file}.x`, 'newest');
      renameSync(`${file}.x`, file);
    });
    expect([disk.text('f'), disk.names()]).toEqual(['newest', ['f']]);
    expect(done.retained.map((path) => readFileSync(path, 'utf8'))).toEqual(['odd', 'newest', 'odd']);
  });

  it('restores the name after another process deleted our file', async () => {
    const { disk } = await exposed((file) => rmSync(file));
    expect([disk.text('f'), disk.names()]).toEqual(['odd', ['f']]);
  });
});
