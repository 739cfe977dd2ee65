import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asNobody } from '../../test/support/nobody.ts';
import { scratch } from '../../test/support/tree.ts';
import { prepareHome } from './prepare-home.ts';

/** Makes a folder with these files and permissions. */
function folder(mode: number, names: readonly string[]): string {
  const path = join(scratch().base, 'place');
  mkdirSync(path);
  for (const name of names) writeFileSync(join(path, name), '');
  chmodSync(path, mode);
  return path;
}

const modeOf = (path: string): number => statSync(path).mode & 0o7777;

describe('prepareHome', () => {
  it('makes a folder that only its user can read', () => {
    const path = join(scratch().base, 'not', 'yet');
    expect(modeOf(prepareHome(path))).toBe(0o700);
  });

  it('names a way out if the folder belongs to another user', () => {
    const { base } = scratch();
    // Deny writing even to the folder's owner, who may be running this test.
    chmodSync(base, 0o555);
    expect(() => asNobody(() => prepareHome(join(base, 'state')))).toThrow(
      /^the state folder cannot be used: .*EACCES.*; set LOOKFIRST_HOME to a folder that this user may write$/,
    );
    chmodSync(base, 0o700);
  });

  it.each([['state'], ['./state'], [''], [5]])('refuses %j, which is not an absolute path', (path) => {
    expect(() => prepareHome(path as string)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it.each<[string, readonly string[]]>([
    ['an empty folder', []],
    [
      'a folder with nothing but our state',
      ['lookfirst.db', 'lookfirst.db-wal', 'lookfirst.json', 'images', 'locks', 'lock-ranges'],
    ],
    [
      'a folder with the state of hooks and commands',
      ['lookfirst.key', 'bin', 'run', 'clients', 'layers', 'snapshots', 'spent-layers'],
    ],
  ])('makes %s private', (_what, names) => {
    expect(modeOf(prepareHome(folder(0o755, names)))).toBe(0o700);
  });

  it.each([0o755, 0o775])('keeps the permissions of a folder that contains other files: %o', (mode) => {
    expect(modeOf(prepareHome(folder(mode, ['lookfirst.db', 'somebody.txt'])))).toBe(mode);
    expect(modeOf(prepareHome(folder(mode, ['bin', 'run'])))).toBe(mode);
  });

  it.each([0o777, 0o1777])('refuses a folder with other files if other users may write to it: %o', (mode) => {
    const path = folder(mode, ['somebody.txt']);
    expect(() => prepareHome(path)).toThrow(/other users may write to it/);
    expect(modeOf(path)).toBe(mode);
  });
});
