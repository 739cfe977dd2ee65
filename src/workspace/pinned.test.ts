import { mkdirSync, readFileSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDescriptors } from '../../test/support/descriptors.ts';
import { makeTree, scratch } from '../../test/support/tree.ts';
import { HeldDirectory, RecentFolders, strongestGuarantee } from './pinned.ts';
import { Workspace } from './workspace.ts';

interface Places {
  readonly root: string;
  readonly outside: string;
}

/**
 * An event that happens to the folder `a/b` while its handle is open. `stands`: the folder still
 * has that path afterwards.
 */
type Row = readonly [what: string, stands: boolean, happens: (places: Places) => void];

const ROWS: readonly Row[] = [
  ['nothing', true, () => {}],
  ['a file made in it', true, ({ root }) => writeFileSync(join(root, 'a/b/new'), '')],
  ['renamed', false, ({ root }) => renameSync(join(root, 'a/b'), join(root, 'a/c'))],
  ['the folder above renamed', false, ({ root }) => renameSync(join(root, 'a'), join(root, 'z'))],
  ['the root renamed', false, ({ root }) => renameSync(root, `${root}-2`)],
  ['moved out of the root', false, ({ root, outside }) => renameSync(join(root, 'a/b'), join(outside, 'b'))],
  [
    'moved away, with a link to it in its place',
    false,
    ({ root, outside }) => {
      renameSync(join(root, 'a/b'), join(outside, 'b'));
      symlinkSync(join(outside, 'b'), join(root, 'a/b'));
    },
  ],
  [
    'replaced by another folder',
    false,
    ({ root }) => {
      renameSync(join(root, 'a/b'), join(root, 'a/c'));
      mkdirSync(join(root, 'a/b'));
    },
  ],
  [
    'moved away and back',
    true,
    ({ root, outside }) => {
      renameSync(join(root, 'a'), join(outside, 'a'));
      renameSync(join(outside, 'a'), join(root, 'a'));
    },
  ],
];

describe.skipIf(strongestGuarantee() !== 'walk')('a folder that was walked to a moment ago', () => {
  it.each(ROWS)('%s: still has its path %s', (_, stands, happens) => {
    const places = scratch();
    makeTree(places, ['a/b/f: inside']);
    const recent = new RecentFolders();
    onTestFinished(() => recent.close());
    const path = join(places.root, 'a/b');
    recent.keep(path, HeldDirectory.open(path)).close();
    happens(places);
    const dir = recent.at(path);
    expect(dir !== undefined).toBe(stands);
    if (dir !== undefined) expect(readFileSync(`${dir.prefix}/f`, 'utf8')).toBe('inside');
    dir?.close();
  });

  it('removed: no longer has its path, even if it is created again', () => {
    const places = scratch();
    const path = join(places.root, 'd');
    mkdirSync(path);
    const recent = new RecentFolders();
    recent.keep(path, HeldDirectory.open(path)).close();
    rmdirSync(path);
    mkdirSync(path);
    expect(recent.at(path)).toBeUndefined();
  });

  it('stays open until its last reference is closed', () => {
    const places = scratch();
    makeTree(places, ['a/b/f: inside']);
    const before = openDescriptors();
    const recent = new RecentFolders();
    const path = join(places.root, 'a/b');
    const first = recent.keep(path, HeldDirectory.open(path));
    const second = recent.at(path);
    recent.close();
    first.close();
    first.close();
    expect(readFileSync(`${second?.prefix}/f`, 'utf8')).toBe('inside');
    second?.close();
    expect(openDescriptors()).toBe(before);
  });

  it('is walked to again after a link took its place', () => {
    const places = scratch();
    makeTree(places, ['a/b/f: inside']);
    const workspace = Workspace.open([places.root]);
    onTestFinished(() => workspace.close());
    expect(workspace.resolve('a/b/f')).toMatchObject({ ok: true, exists: true });
    renameSync(join(places.root, 'a'), join(places.outside, 'a'));
    symlinkSync(join(places.outside, 'a'), join(places.root, 'a'));
    expect(workspace.resolve('a/b/f')).toMatchObject({ ok: false, refusal: { code: 'OUTSIDE_WORKSPACE' } });
  });
});
