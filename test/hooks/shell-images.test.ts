import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lookfirst, objects } from '../support/command-line.ts';
import { Hooked } from '../support/hooked.ts';
import { asNobody, giveAway } from '../support/nobody.ts';
import { type Scratch, scratch } from '../support/tree.ts';

let places: Scratch;
const path = (name: string): string => join(places.root, name);
const mode = (name: string): number => lstatSync(path(name)).mode & 0o777;

async function changes(): Promise<Record<string, unknown>[]> {
  return objects(await lookfirst(places, ['log', '--kind', 'change', '--json']));
}

beforeEach(() => {
  places = scratch();
  writeFileSync(path('a.txt'), 'one\n');
});

describe('a shell command without a layer', () => {
  it('may run although the session has seen a file that may no longer be read', async () => {
    // Load all modules now: the ordinary user may not be able to enter the folder of the project.
    await new Hooked(scratch()).shell('true');
    giveAway(places.base, places.root, places.home, path('a.txt'));
    await asNobody(async () => {
      const agent = new Hooked(places);
      await agent.read('a.txt', 'one\n');
      chmodSync(path('a.txt'), 0);
      expect(await agent.shell('chmod 644 a.txt')).toMatchObject({ verdict: 'pass' });
      expect(await agent.shell('echo two > a.txt')).toMatchObject({ verdict: 'pass' });
    });
    expect(readFileSync(path('a.txt'), 'utf8')).toBe('two\n');
  });

  it('is recorded although a seen file became a FIFO', async () => {
    writeFileSync(path('b.txt'), 'one\n');
    const agent = new Hooked(places);
    for (const name of ['a.txt', 'b.txt']) await agent.read(name, 'one\n');
    await agent.shell('rm a.txt && mkfifo a.txt && echo two >> b.txt');
    expect(await changes()).toMatchObject([{ effects: [{ relative: 'b.txt' }] }]);
  });

  it('does not wait until a very large file that git does not know is read', async () => {
    writeFileSync(path('large'), '');
    truncateSync(path('large'), 2 ** 40);
    expect(await new Hooked(places).shell('true')).toMatchObject({ verdict: 'pass' });
  });
});

const git = (...args: readonly string[]): unknown =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: places.root });

it('a change of a tracked file whose name is not UTF-8 is not recorded as the removal of another file', async () => {
  const name = Buffer.concat([Buffer.from(`${places.root}/b`), Buffer.from([0xff])]);
  writeFileSync(name, 'one\n');
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-qm', 'one'],
  ])
    git(...args);
  await new Hooked(places).shell('for f in b*; do echo two >> "$f"; done; echo two > c.txt');
  expect(readFileSync(name, 'utf8')).toBe('one\ntwo\n');
  expect(await changes()).toMatchObject([{ effects: [{ relative: 'c.txt' }] }]);
});

describe('the permissions of a tracked file that the session has not seen', () => {
  beforeEach(() => {
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'one');
    chmodSync(path('a.txt'), 0o600);
    git('status');
  });

  it('stay as they are when a command is undone', async () => {
    // Put the edit into a script, because hooks deny a command line that certainly changes an
    // unread file.
    writeFileSync(join(places.outside, 'edit'), 'sed -i s/one/two/ a.txt');
    await new Hooked(places).shell(`sh ${join(places.outside, 'edit')}`);
    expect(readFileSync(path('a.txt'), 'utf8')).toBe('two\n');
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect([readFileSync(path('a.txt'), 'utf8'), mode('a.txt')]).toEqual(['one\n', 0o600]);
  });

  it('are no change if the command changed only the time of the file', async () => {
    await new Hooked(places).shell('touch -d 2001-01-01 a.txt');
    expect(await changes()).toEqual([]);
  });

  it('are a change if the file became executable, which can be undone', async () => {
    await new Hooked(places).shell('chmod u+x a.txt');
    expect(mode('a.txt')).toBe(0o700);
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(mode('a.txt')).toBe(0o600);
  });

  it('come from the umask if the file was removed', async () => {
    await new Hooked(places).shell('$(echo rm) a.txt');
    expect(existsSync(path('a.txt'))).toBe(false);
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(mode('a.txt')).toBe(0o666 & ~process.umask());
  });
});
