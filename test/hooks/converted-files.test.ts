import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { type Scratch, scratch } from '../support/tree.ts';

/** A repository in which git converts files on the way into its blobs. */

let places: Scratch;
const path = (name: string): string => join(places.root, name);
const bytes = (name: string): string => readFileSync(path(name), 'latin1');
const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
    cwd: places.root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/** Writes and commits files. Their times are old, so that git trusts its own stat fields. */
function commit(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text, 'latin1');
    utimesSync(path(name), 1e9, 1e9);
  }
  git('add', '-A');
  git('commit', '-qm', 'files');
}

/** A script that the hooks cannot read: they know only afterwards what it has changed. */
function script(text: string): string {
  const file = join(places.outside, 'script');
  writeFileSync(file, text);
  return `sh ${file}`;
}

const change = async (): Promise<Record<string, unknown> | undefined> =>
  objects(await lookfirst(places, ['log', '--kind', 'change', '--json']))[0];

beforeEach(() => {
  places = scratch();
  git('init', '-q');
});

describe('a shell command without a layer, in a repository with `* text=auto`', () => {
  const files = {
    '.gitattributes': '* text=auto\n',
    'lf.txt': 'one\ntwo\n',
    'crlf.txt': 'one\r\ntwo\r\n',
    'mixed.txt': 'one\r\ntwo\nthree\r\n',
    'binary.bin': 'one\r\n\0two\n',
    'src/deep.txt': 'deep\n',
  };
  const names = Object.keys(files);

  it('can be undone, whatever the line endings', async () => {
    commit(files);
    const agent = new Hooked(places);
    await agent.shell(script('for f in *.txt *.bin src/*; do echo x >> $f; done'));
    await agent.shell(script('rm *.txt *.bin src/*'));
    expect(await lookfirst(places, ['undo', '--session', 's'])).toMatchObject({ code: 0 });
    expect(Object.fromEntries(names.map((name) => [name, bytes(name)]))).toEqual(files);
  });

  it('can be undone if it checked out another branch with other attributes', async () => {
    commit(files);
    git('checkout', '-qb', 'other');
    git('rm', '-q', '.gitattributes');
    commit({ 'crlf.txt': 'other\n', 'mixed.txt': 'other\r\nother\n' });
    git('checkout', '-q', '-');
    for (const name of names) {
      writeFileSync(path(name), files[name as keyof typeof files], 'latin1');
      utimesSync(path(name), 1e9, 1e9);
    }
    git('add', '-A');
    await new Hooked(places).shell(script('git checkout -qf other'));
    expect(bytes('mixed.txt')).toBe('other\r\nother\n');
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(Object.fromEntries(names.map((name) => [name, bytes(name)]))).toEqual(files);
  });
});

describe('a shell command without a layer, where every file has CRLF', () => {
  it('can be undone although there are more such files than are stored before a command', async () => {
    // Lift the time limit, because the first comparison may be slow on a loaded machine.
    git('config', 'core.autocrlf', 'true');
    const files = Object.fromEntries(
      Array.from({ length: 2100 }, (_, at) => [`d${at % 7}/f${at}`, `${at}\r\n`]),
    );
    commit(files);
    await new Hooked(places).shell(script('rm -rf d3 d4 && echo x > d5/f5'));
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    for (const [name, text] of Object.entries(files)) expect(bytes(name)).toBe(text);
  });
});

describe('a file that a filter of git converts', () => {
  const encoded = 'filtered bytes, which are longer than those in git\n';

  it('is restored byte for byte', async () => {
    git('config', 'filter.short.clean', 'cut -c1-4');
    commit({ '.gitattributes': 'a.txt filter=short\n', 'a.txt': encoded });
    expect(git('cat-file', '-p', ':a.txt')).toBe('filt\n');
    await new Hooked(places).shell(script('rm a.txt'));
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(bytes('a.txt')).toBe(encoded);
  });

  it('of the same size is not restored with the bytes of git', async () => {
    git('config', 'filter.turn.clean', 'tr a-z n-za-m');
    commit({ '.gitattributes': 'a.txt filter=turn\n', 'a.txt': 'hello\n', 'b.txt': 'plain\n' });
    expect(git('cat-file', '-p', ':a.txt')).toBe('uryyb\n');
    await new Hooked(places).shell(script('rm a.txt b.txt'));
    const ran = await lookfirst(places, ['undo']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('a.txt');
    expect(await change()).toMatchObject({ notices: ['not-kept'] });
  });
});
