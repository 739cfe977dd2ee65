import { execFile, execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { Script } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/command-line.ts';
import { scratch } from '../support/tree.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string;
};
const chunks = join(import.meta.dirname, '../../dist/chunks');
const [node = '', program = ''] = PROGRAM;
// Node caches compiled code since 22.8. On older versions, Lookfirst caches it.
const isKeptByNode = 'enableCompileCache' in module;

/** A state folder that only this user can write to. */
function stateFolder(): string {
  const { home } = scratch();
  chmodSync(home, 0o700);
  return home;
}

/** Starts the command once with this state folder; returns what it prints. */
function start(home: string, more: Readonly<Record<string, string>> = {}): string {
  return execFileSync(node, [program, 'version'], { env: environment(home, more), encoding: 'utf8' }).trim();
}

function environment(home: string, more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH } = process.env;
  return { PATH, LOOKFIRST_HOME: home, ...more };
}

/** The file with the compiled code of commands. */
function codeFile(home: string): string {
  const [name = '', ...more] = readdirSync(join(home, 'compiled'));
  expect(more).toEqual([]);
  return join(home, 'compiled', name);
}

/**
 * Replaces the cached code with code that prints something else. V8 would run that code, because V8
 * compares only the length of the source.
 */
function poison(file: string): void {
  const parts = readParts(file);
  const main = parts.get('main.cjs');
  if (main === undefined) throw new Error('main.cjs is not kept');
  const text = readFileSync(join(chunks, 'main.cjs'), 'utf8');
  const other = `console.log('poison');process.exit(0);`.padEnd(text.length);
  const script = new Script(`(function(exports,require,module,__filename,__dirname){${other}\n})`);
  const data = script.createCachedData();
  parts.set('main.cjs', { ...main, data, sha256: hash('sha256', data) });
  writeFileSync(file, serialize(parts));
}

interface Part {
  readonly mtimeMs: number;
  readonly sha256: string;
  readonly data: Buffer;
}

function readParts(file: string): Map<string, Part> {
  return deserialize(readFileSync(file)) as Map<string, Part>;
}

describe('the cache of compiled code', () => {
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

describe.skipIf(isKeptByNode)('the code that the program keeps compiled', () => {
  it('is run by the next start, which does not write it again', () => {
    const home = stateFolder();
    expect(start(home)).toBe(version);
    const file = codeFile(home);
    const { ino, mode } = statSync(file);
    expect(mode & 0o777).toBe(0o600);
    expect(start(home)).toBe(version);
    expect(statSync(file).ino).toBe(ino);
    poison(file);
    expect(start(home)).toBe('poison');
  });

  it('is replaced if V8 rejects it or the file is truncated', () => {
    const home = stateFolder();
    start(home);
    const file = codeFile(home);
    const bytes = readFileSync(file);
    // The V8 version is the second 32-bit word of each cached part.
    const parts = readParts(file);
    for (const part of parts.values()) part.data.fill(0xab, 4, 8);
    const other = serialize(parts);
    const zeroed = Buffer.from(bytes).fill(0, bytes.length - 3_000, bytes.length - 2_000);
    for (const damaged of [
      other,
      zeroed,
      bytes.subarray(0, 100),
      bytes.subarray(0, -5_000),
      Buffer.alloc(0),
    ]) {
      writeFileSync(file, damaged);
      expect(start(home)).toBe(version);
      expect(readFileSync(file).length).toBeGreaterThan(bytes.length - 5_000);
      expect(readFileSync(file).equals(damaged)).toBe(false);
    }
  });

  it('is not run after its source has changed, or under other flags', () => {
    const home = stateFolder();
    start(home);
    const file = codeFile(home);
    poison(file);
    expect(start(home, { NODE_OPTIONS: '--no-warnings' })).toBe(version);
    const parts = [...readParts(file)].map(([name, part]) => [name, { ...part, mtimeMs: 9 }] as const);
    writeFileSync(file, serialize(new Map(parts)));
    expect(start(home)).toBe(version);
  });

  it('can be written by many processes at once, all of which work', async () => {
    const home = stateFolder();
    const run = promisify(execFile);
    const starts = Array.from({ length: 6 }, () =>
      run(node, [program, 'version'], { env: environment(home) }),
    );
    for (const { stdout } of await Promise.all(starts)) expect(stdout).toBe(`${version}\n`);
    expect(codeFile(home)).toMatch(/\.code$/);
  });

  const hostile: readonly (readonly [string, (home: string, file: string) => void])[] = [
    ['a state folder that others may write to', (home) => chmodSync(home, 0o770)],
    ['a folder that others may write to', (home) => chmodSync(join(home, 'compiled'), 0o720)],
    ['a file that others may write to', (_home, file) => chmodSync(file, 0o620)],
    [
      'a link to a folder',
      (home) => {
        renameSync(join(home, 'compiled'), join(home, 'elsewhere'));
        symlinkSync('elsewhere', join(home, 'compiled'));
      },
    ],
    [
      'a link to a file',
      (home, file) => {
        renameSync(file, join(home, 'file'));
        symlinkSync(join(home, 'file'), file);
      },
    ],
    ['a file with a second hard link', (home, file) => linkSync(file, join(home, 'second'))],
  ];

  it.each(hostile)('is not run from %s', (_what, make) => {
    const home = stateFolder();
    start(home);
    const file = codeFile(home);
    poison(file);
    expect(start(home)).toBe('poison');
    make(home, file);
    expect(start(home)).toBe(version);
  });

  // Only root can give a file to another user.
  it.skipIf(process.getuid?.() !== 0)('is not run from the folder or file of another user', () => {
    const home = stateFolder();
    start(home);
    const file = codeFile(home);
    poison(file);
    chownSync(file, 65_534, 65_534);
    expect(start(home)).toBe(version);
    poison(codeFile(home));
    expect(start(home)).toBe('poison');
    chownSync(join(home, 'compiled'), 65_534, 65_534);
    expect(start(home)).toBe(version);
  });
});
