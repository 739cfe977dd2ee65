import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/command-line.ts';
import { scratch } from '../support/tree.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string;
};
const [node = '', program = ''] = PROGRAM;
// Node caches compiled code since 22.8.
const isKeptByNode = 'enableCompileCache' in module;

/** A state folder that only this user can write to. */
function stateFolder(): string {
  const { home } = scratch();
  chmodSync(home, 0o700);
  return home;
}

/** Starts the command once with this state folder; returns what it prints. */
function start(home: string, more: Readonly<Record<string, string>> = {}): string {
  const { PATH } = process.env;
  const env = { PATH, LOOKFIRST_HOME: home, ...more };
  return execFileSync(node, [program, 'version'], { env, encoding: 'utf8' }).trim();
}

describe.runIf(isKeptByNode)('the cache of compiled code', () => {
  it('is kept in a private folder of the state', () => {
    const home = stateFolder();
    start(home);
    expect(readdirSync(join(home, 'compiled'))).not.toEqual([]);
    expect(statSync(join(home, 'compiled')).mode & 0o777).toBe(0o700);
  });

  it('is not used in a folder that others may write to', () => {
    const home = stateFolder();
    const folder = join(home, 'compiled');
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    start(home);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not used in a state folder that others may write to, or behind a link', () => {
    const home = stateFolder();
    chmodSync(home, 0o770);
    start(home);
    expect(readdirSync(home)).toEqual([]);
    chmodSync(home, 0o700);
    const folder = join(stateFolder(), 'elsewhere');
    mkdirSync(folder, 0o700);
    symlinkSync(folder, join(home, 'compiled'));
    start(home);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not created if the state folder is missing or the cache is switched off', () => {
    const home = join(stateFolder(), 'new');
    expect(start(home)).toBe(version);
    mkdirSync(home, 0o700);
    expect(start(home, { LOOKFIRST_COMPILE_CACHE: 'off' })).toBe(version);
    expect(readdirSync(home)).toEqual([]);
  });

  it('is kept where LOOKFIRST_COMPILE_CACHE says', () => {
    const home = stateFolder();
    const folder = join(stateFolder(), 'elsewhere');
    start(home, { LOOKFIRST_COMPILE_CACHE: folder });
    expect(readdirSync(folder)).not.toEqual([]);
    expect(readdirSync(home)).toEqual([]);
  });

  it('is skipped if its folder cannot be created', () => {
    const home = stateFolder();
    writeFileSync(join(home, 'compiled'), 'a file');
    expect(start(home)).toBe(version);
    expect(readFileSync(join(home, 'compiled'), 'utf8')).toBe('a file');
  });
});

describe.skipIf(isKeptByNode)('a Node without a cache of compiled code', () => {
  it('runs the program, which creates nothing', () => {
    const home = stateFolder();
    expect(start(home)).toBe(version);
    expect(readdirSync(home)).toEqual([]);
  });
});
