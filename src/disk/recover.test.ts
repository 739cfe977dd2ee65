import { existsSync, linkSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from '../../test/support/disk.ts';
import { recoverAll } from '../../test/support/recovery.ts';
import { makeTree, treeOf } from '../../test/support/tree.ts';
import type { PinnedDirectory } from '../model/path.ts';
import { LitterLog } from './litter-log.ts';
import { type Recovered, recover } from './recover.ts';

/** Simulates a killed process: its log stays, and `leave` creates the files it left behind. */
function killed(disk: Bench, owner: string, leave: (log: LitterLog) => void): void {
  leave(new LitterLog(disk.home, owner, 'none'));
}

function again(disk: Bench): Recovered {
  return recoverAll(disk.workspace, disk.context, disk.home);
}

function logs(disk: Bench): string[] {
  return readdirSync(join(disk.home, 'writers'));
}

describe('recover', () => {
  it('moves temporary files out of the workspace and keeps them', () => {
    const disk = bench(['d/f: x']);
    killed(disk, 'dead', (log) =>
      writeFileSync(join(disk.root, 'd', log.tempName(join(disk.root, 'd'))), 'half'),
    );
    expect(again(disk)).toEqual({ restored: [], removed: [join(disk.root, 'd/.lookfirst-dead-1')] });
    expect([treeOf(disk.root), disk.retained(), logs(disk)]).toEqual([['d/f: x'], ['half'], []]);
  });

  it.each<[string, string[], string[], string[]]>([
    ['gives a claimed name back', ['CLAIM: old'], ['f: old'], []],
    ['keeps a claimed file whose name is taken', ['CLAIM: old', 'f: new'], ['f: new'], ['old']],
    ['has nothing to do where the claim never happened', ['f: old'], ['f: old'], []],
    ['gives a claimed link back', ['CLAIM => g'], ['f => g'], []],
    ['gives a claimed folder back', ['CLAIM/g: x'], ['f/g: x'], []],
  ])('%s', (_what, tree, after, retained) => {
    const disk = bench([]);
    killed(disk, 'dead', (log) => {
      const claim = log.tempName(disk.root);
      log.claiming(disk.root, { claim, name: 'f', durability: 'full' });
      makeTree(
        disk,
        tree.map((line) => line.replace('CLAIM', claim)),
      );
    });
    again(disk);
    expect([treeOf(disk.root), disk.retained(), logs(disk)]).toEqual([after, retained, []]);
  });

  it('removes a second name of a file that is in place, and no other name', () => {
    const disk = bench(['f: published', 'g: old']);
    killed(disk, 'dead', (log) => {
      linkSync(join(disk.root, 'f'), join(disk.root, log.tempName(disk.root)));
      mkdirSync(join(disk.outside, 'd'));
      const displaced = join(disk.root, log.tempName(disk.root));
      writeFileSync(displaced, 'displaced');
      linkSync(displaced, join(disk.outside, 'd/other-name'));
    });
    again(disk);
    expect([treeOf(disk.root), disk.retained()]).toEqual([['f: published', 'g: old'], ['displaced']]);
  });

  it('does not compare every temporary name with every other name of its folder', () => {
    const names = Array.from({ length: 100 }, (_, index) => String(index));
    const disk = bench([...names.map((name) => `d/${name}: x`), 'd/f']);
    const dir = join(disk.root, 'd');
    mkdirSync(join(disk.outside, 'd'));
    killed(disk, 'dead', (log) => {
      for (const name of names) {
        const temp = join(dir, log.tempName(dir));
        writeFileSync(temp, 'half');
        linkSync(temp, join(disk.outside, 'd', name));
      }
    });
    const folder = disk.place('d/f').dir;
    let uses = 0;
    const counted: PinnedDirectory = {
      get prefix() {
        uses += 1;
        return folder.prefix;
      },
      enter: (name) => folder.enter(name),
      close: () => {},
    };
    const recovery = { home: disk.home, isAlive: (owner: string) => owner === 'us', enter: () => counted };
    expect(recover(disk.context, recovery).removed).toHaveLength(names.length);
    expect(uses).toBeLessThan(10 * names.length);
  });

  it('does not touch names of a running process, even if its id has the same beginning', () => {
    const disk = bench(['.lookfirst-dead-x-1: theirs', '.lookfirst-us-1: ours', '.lookfirst-notes: mine']);
    killed(disk, 'dead', (log) => log.tempName(disk.root));
    killed(disk, 'us', (log) => log.tempName(disk.root));
    expect(again(disk)).toEqual({ restored: [], removed: [] });
    expect([disk.names().length, logs(disk)]).toEqual([3, ['us.log']]);
  });

  it('does not touch folders of another workspace', () => {
    const disk = bench([]);
    killed(disk, 'dead', (log) => writeFileSync(join(disk.outside, log.tempName(disk.outside)), 'half'));
    again(disk);
    expect([readdirSync(disk.outside), logs(disk)]).toEqual([['.lookfirst-dead-1'], ['dead.log']]);
  });

  it.each([
    ['forgets', 'a deleted', 31, 'gone', []],
    ['remembers', 'a recently deleted', 29, 'gone', ['dead.log']],
    ['remembers', 'an existing', 31, 'there', ['dead.log']],
  ] as const)('%s %s folder of another workspace (%i days)', (_does, _what, days, folder, left) => {
    const disk = bench([]);
    mkdirSync(join(disk.outside, 'there'));
    killed(disk, 'dead', (log) => log.tempName(join(disk.outside, folder)));
    const atMs = Date.now() - days * 24 * 3_600_000;
    utimesSync(join(disk.home, 'writers/dead.log'), atMs / 1000, atMs / 1000);
    again(disk);
    expect(logs(disk)).toEqual(left);
  });

  it('remembers a file that lost its name, even if its folder is missing for long', () => {
    const disk = bench([]);
    const dir = join(disk.outside, 'unmounted');
    killed(disk, 'dead', (log) => {
      log.claiming(dir, { claim: log.tempName(dir), name: 'a.txt', durability: 'none' });
    });
    utimesSync(join(disk.home, 'writers/dead.log'), 1, 1);
    again(disk);
    expect(logs(disk)).toEqual(['dead.log']);
  });

  it('drops folders that no longer exist', () => {
    const disk = bench([]);
    killed(disk, 'dead', (log) => log.tempName(join(disk.root, 'gone/deep')));
    again(disk);
    expect(logs(disk)).toEqual([]);
  });

  it('reads a log whose last line was cut off by the crash', () => {
    const disk = bench([]);
    const log = join(disk.home, 'writers/dead.log');
    writeFileSync(log, `${JSON.stringify({ dir: disk.root })}\n{"dir":"/x","cla`);
    writeFileSync(join(disk.root, '.lookfirst-dead-1'), 'half');
    again(disk);
    expect([disk.names(), existsSync(log)]).toEqual([[], false]);
  });

  it('cleans up what it can, and leaves the rest for later', () => {
    const disk = bench(['good/', 'bad/'], { trace: (step) => void (step === 'retain' && failOnce()) });
    let failures = 1;
    function failOnce(): void {
      if (failures === 0) return;
      failures -= 1;
      throw Object.assign(new Error('injected'), { code: 'ENOSPC' });
    }
    killed(disk, 'dead', (log) => {
      for (const folder of ['bad', 'good']) {
        const dir = join(disk.root, folder);
        writeFileSync(join(dir, log.tempName(dir)), 'half');
      }
    });
    again(disk);
    expect([disk.names('bad').length, disk.names('good').length, logs(disk)]).toEqual([1, 0, ['dead.log']]);
    again(disk);
    expect([disk.names('bad').length, logs(disk)]).toEqual([0, []]);
  });
});
