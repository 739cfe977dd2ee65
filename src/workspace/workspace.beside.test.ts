import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import type { Place } from '../model/path.ts';
import { strongestGuarantee } from './pinned.ts';
import { type Located, Workspace } from './workspace.ts';

interface Setting {
  readonly root: string;
  readonly near: Place;
  readonly beside: (name: string) => Located | undefined;
  readonly located: (path: string) => Located | undefined;
}

function setting(options: NonNullable<Parameters<typeof Workspace.open>[1]> = {}): Setting {
  const { root, outside } = scratch();
  mkdirSync(join(root, 'd/in'), { recursive: true });
  for (const name of ['d/a', 'd/b', 'd/c.key']) writeFileSync(join(root, name), name);
  writeFileSync(join(outside, 'out'), 'out');
  symlinkSync(join(outside, 'out'), join(root, 'd/link'));
  const workspace = Workspace.open([root], options);
  onTestFinished(() => workspace.close());
  const located = (path: string): Located | undefined => {
    const outcome = workspace.locate(path, 'undo', 'parents');
    if (!outcome.ok) return undefined;
    onTestFinished(() => outcome.located.place.dir.close());
    return outcome.located;
  };
  const near = located(join(root, 'd/a'))?.place;
  if (near === undefined) return expect.fail('d/a was not located');
  return { root, near, located, beside: (name) => workspace.locateBeside(near, name, 'undo') };
}

describe('a name beside a located one', () => {
  describe.skipIf(strongestGuarantee() !== 'walk')('in a folder that is held open', () => {
    it.each(['a', 'b', 'in', 'link'])('is located like any other path: %s', (name) => {
      const { root, beside, located } = setting();
      const [found, alone] = [beside(name), located(join(root, 'd', name))];
      expect(found?.place.path).toEqual(alone?.place.path);
      expect([found?.exists, found?.place.name]).toEqual([true, name]);
      if (found?.exists !== true || alone?.exists !== true) return expect.fail('it was not found');
      expect(found.stats.ino).toBe(alone.stats.ino);
    });

    it('is in the same folder even if a link has taken the folder’s name', () => {
      const { root, beside } = setting();
      const before = beside('b');
      renameSync(join(root, 'd'), join(root, 'e'));
      symlinkSync('/', join(root, 'd'));
      const after = beside('b');
      if (before?.exists !== true || after?.exists !== true) return expect.fail('it was not found');
      expect(after.stats.ino).toBe(before.stats.ino);
    });
  });

  it.each(['missing', 'c.key'])('is left to a full search if it is missing or protected: %s', (name) => {
    expect(setting({ protect: ['**/*.key'] }).beside(name)).toBeUndefined();
  });

  it('is left to a full search if the folder can only be named by its path', () => {
    expect(setting({ use: 'best-effort' }).beside('b')).toBeUndefined();
  });
});
