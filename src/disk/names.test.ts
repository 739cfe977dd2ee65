import { lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeTree, scratch, treeOf } from '../../test/support/tree.ts';
import { linkIfFree, moveFolderIfFree, moveIfFree } from './names.ts';

describe('moveIfFree', () => {
  it.each<[string, string, string]>([
    ['a file', 'from: x', 'to: x'],
    ['a link as a link', 'from => nowhere', 'to => nowhere'],
    ['a folder', 'from/f: x', 'to/f: x'],
    ['an empty folder', 'from/', 'to/'],
  ])('moves %s to a free name', (_what, before, after) => {
    const places = scratch();
    makeTree(places, [before]);
    const from = join(places.root, 'from');
    const { ino } = lstatSync(from);
    expect(moveIfFree(from, join(places.root, 'to'))).toBe(true);
    expect([treeOf(places.root), lstatSync(join(places.root, 'to')).ino]).toEqual([[after], ino]);
  });

  it.each(['from: x', 'from => nowhere', 'from/f: x'])(
    'does not move [%s] if the name is taken',
    (before) => {
      for (const taken of ['to: theirs', 'to/', 'to/g: theirs', 'to => nowhere']) {
        const places = scratch();
        makeTree(places, [before, taken]);
        expect(moveIfFree(join(places.root, 'from'), join(places.root, 'to'))).toBe(false);
        expect(treeOf(places.root)).toEqual([before, taken].sort());
      }
    },
  );

  it("throws the system's error if there is nothing to move", () => {
    const { root } = scratch();
    expect(() => moveIfFree(join(root, 'from'), join(root, 'to'))).toThrow(/ENOENT/);
  });
});

describe('linkIfFree', () => {
  it('adds a second name, or says why not', () => {
    const { root } = scratch();
    writeFileSync(join(root, 'f'), 'x');
    mkdirSync(join(root, 'd'));
    symlinkSync('f', join(root, 'l'));
    expect(linkIfFree(join(root, 'f'), join(root, 'g'))).toBe('linked');
    expect(linkIfFree(join(root, 'f'), join(root, 'g'))).toBe('taken');
    expect(linkIfFree(join(root, 'd'), join(root, 'e'))).toBe('no-links');
    expect(lstatSync(join(root, 'g')).nlink).toBe(2);
  });
});

describe('moveFolderIfFree', () => {
  it('never replaces anything with a folder', () => {
    const places = scratch();
    makeTree(places, ['d/f: x', 'e/', 'g: x']);
    for (const name of ['e', 'g']) {
      expect(moveFolderIfFree(join(places.root, 'd'), join(places.root, name))).toBe(false);
    }
    expect(moveFolderIfFree(join(places.root, 'd'), join(places.root, 'new'))).toBe(true);
    expect(treeOf(places.root)).toEqual(['e/', 'g: x', 'new/f: x']);
  });
});
