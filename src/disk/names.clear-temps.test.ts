import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from '../../test/support/disk.ts';
import { recoverAll } from '../../test/support/recovery.ts';
import { makeTree, treeOf } from '../../test/support/tree.ts';
import type { DiskContext } from './context.ts';
import { tempName } from './names.ts';

const DEAD: DiskContext['change'] = 'dead';

function nameOf(disk: Bench, path: string, use: 'new' | 'old' | 'back'): string {
  const outcome = disk.workspace.locate(path, 'status', 'parents');
  if (!outcome.ok) throw new Error(outcome.refusal.code);
  outcome.located.place.dir.close();
  return tempName({ change: DEAD }, outcome.located.place.path, use);
}

function again(disk: Bench, paths: readonly string[] = ['f']): 'clear' | 'left' {
  return recoverAll(disk.workspace, disk.context, { change: DEAD, paths });
}

it('a temporary name follows from the change, the path and its use', () => {
  const disk = bench(['f: x', 'g: x']);
  const names = ['f', 'g'].flatMap((path) =>
    (['new', 'old', 'back'] as const).map((use) => nameOf(disk, path, use)),
  );
  expect(new Set(names).size).toBe(6);
  for (const name of names) expect(name).toMatch(/^\.lookfirst-dead-[0-9a-f]{12}(-old|-back)?$/);
  expect(nameOf(disk, 'f', 'old')).toBe(names[1]);
});

describe('after a kill', () => {
  it.each<[string, 'new' | 'old' | 'back', string[], string[], string[]]>([
    ['new bytes are kept outside the workspace', 'new', ['f: old', 'TEMP: half'], ['f: old'], ['half']],
    ['a replaced file is kept outside the workspace', 'new', ['f: new', 'TEMP: old'], ['f: new'], ['old']],
    ['a file that was renamed away gets its name back', 'old', ['TEMP: old'], ['f: old'], []],
    ['its name may be taken by now', 'old', ['TEMP: old', 'f: new'], ['f: new'], ['old']],
    ['a link that was renamed away gets its name back', 'old', ['TEMP => g'], ['f => g'], []],
    ['a folder that was renamed away gets its name back', 'old', ['TEMP/g: x'], ['f/g: x'], []],
    ['a file on its way back is kept', 'back', ['f: new', 'TEMP: old'], ['f: new'], ['old']],
    ['there may be nothing to do', 'old', ['f: old'], ['f: old'], []],
  ])('%s', (_what, use, tree, after, retained) => {
    const disk = bench([]);
    const temp = nameOf(disk, 'f', use);
    makeTree(
      disk,
      tree.map((line) => line.replace('TEMP', temp)),
    );
    expect(again(disk)).toBe('clear');
    expect([treeOf(disk.root), disk.retained()]).toEqual([after, retained]);
  });

  it('a second name of a file that is in place is removed, and no other name', () => {
    const disk = bench(['f: published', 'g: old']);
    linkSync(join(disk.root, 'f'), join(disk.root, nameOf(disk, 'f', 'new')));
    mkdirSync(join(disk.outside, 'd'));
    const displaced = join(disk.root, nameOf(disk, 'g', 'new'));
    writeFileSync(displaced, 'displaced');
    linkSync(displaced, join(disk.outside, 'd/other-name'));
    again(disk, ['f', 'g']);
    expect([treeOf(disk.root), disk.retained()]).toEqual([['f: published', 'g: old'], ['displaced']]);
  });

  it('names of other changes and of other programs are not touched', () => {
    const tree = ['.lookfirst-dead-1: theirs', '.lookfirst-dead: theirs', '.lookfirst-other-1: ours'];
    const disk = bench(tree);
    expect(again(disk)).toBe('clear');
    expect(treeOf(disk.root)).toEqual(tree);
  });

  it('what cannot be removed now is left for the next start', () => {
    let failures = 1;
    const disk = bench(['good/', 'bad/'], {
      trace: (step) => {
        if (step !== 'retain' || failures === 0) return;
        failures -= 1;
        throw Object.assign(new Error('injected'), { code: 'ENOSPC' });
      },
    });
    const paths = ['bad/f', 'good/f'];
    for (const path of paths) writeFileSync(join(disk.root, path, '..', nameOf(disk, path, 'new')), 'half');
    expect([again(disk, paths), disk.names('bad').length, disk.names('good').length]).toEqual(['left', 1, 0]);
    expect([again(disk, paths), disk.names('bad').length]).toEqual(['clear', 0]);
  });
});
