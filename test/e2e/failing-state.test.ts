import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { environment, lookfirst, PROGRAM } from '../support/command-line.ts';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

function withFile(): Scratch {
  const places = scratch();
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
  return places;
}

describe('a server whose state database is damaged', () => {
  it('reports the damage on stderr, in its first answer, in the log and in doctor, and still serves', async () => {
    const places = withFile();
    writeFileSync(join(places.home, 'lookfirst.db'), 'no database '.repeat(1000));
    const served = Served.launch(places, ['serve', places.root]);
    await served.hello();
    const first = await served.call('read_file', { path: 'a.txt' });
    expect(first).toMatchObject({
      ok: true,
      text: expect.stringMatching(/^1\tone\n.*database was damaged/s),
    });
    const second = await served.call('write_file', { path: 'a.txt', content: 'two\n' });
    expect(second).toMatchObject({ ok: true, text: expect.not.stringContaining('damaged') });
    await expect.poll(() => served.client.errors).toMatch(/database was damaged.*\.damaged-/);
    expect(await served.stop()).toBe(0);
    expect((await lookfirst(places, ['log'])).stdout).toMatch(/database was damaged/);
    expect((await lookfirst(places, ['doctor'])).stdout).toMatch(/damaged database was set aside/);
  });
});

describe('a state database that was deleted', () => {
  it('is missed by log --verify and doctor, and the next start says that its journal is lost', async () => {
    const places = withFile();
    await changed(places, 'two\n');
    for (const part of ['', '-wal', '-shm'])
      rmSync(join(places.home, `lookfirst.db${part}`), { force: true });
    const verified = await lookfirst(places, ['log', '--verify']);
    expect(verified).toMatchObject({ code: 1, stdout: expect.stringContaining('entry 1 is missing') });
    expect((await lookfirst(places, ['doctor'])).stdout).toContain('journal entry 1 was removed');
    const first = await changed(places, 'three\n');
    expect(first.text).toMatch(/lookfirst\.db was deleted, and a new one was begun: its \d+ journal entries/);
    expect((await lookfirst(places, ['log'])).stdout).toContain('was deleted, and a new one was begun');
    expect((await changed(places, 'four\n')).text).not.toContain('was deleted');
  });

  it('or replaced by an older copy is noticed in the same way', async () => {
    const places = withFile();
    const database = join(places.home, 'lookfirst.db');
    await changed(places, 'two\n');
    const parts = ['', '-wal'].filter((part) => existsSync(database + part));
    for (const part of parts) copyFileSync(database + part, `${places.home}/copy${part}`);
    await changed(places, 'three\n');
    for (const part of ['', '-wal', '-shm']) rmSync(database + part, { force: true });
    for (const part of parts) renameSync(`${places.home}/copy${part}`, database + part);
    expect(await lookfirst(places, ['log', '--verify'])).toMatchObject({ code: 1 });
    expect((await lookfirst(places, ['doctor'])).stdout).toMatch(/journal entry \d+ was removed/);
    expect((await changed(places, 'four\n')).text).toMatch(/has lost the journal entries \d+ to \d+/);
  });
});

/** Starts a server, reads the file and changes it. Returns the first answer. */
async function changed(places: Scratch, content: string): Promise<{ readonly text: string }> {
  const served = Served.launch(places, ['serve', places.root]);
  await served.hello();
  const first = await served.call('read_file', { path: 'a.txt' });
  expect(await served.call('write_file', { path: 'a.txt', content })).toMatchObject({ ok: true });
  expect(await served.stop()).toBe(0);
  return first;
}

describe('a server whose state cannot be used', () => {
  it('answers every call with the cause, keeps running, and works once the cause is gone', async () => {
    const places = withFile();
    const database = join(places.home, 'lookfirst.db');
    mkdirSync(database);
    const served = Served.launch(places, ['serve', places.root]);
    await served.hello();
    await served.tools();
    for (const _try of [1, 2]) {
      const failed = await served.call('write_file', { path: 'b.txt', content: 'new\n' });
      expect(failed).toMatchObject({
        ok: false,
        outcome: { code: 'STORE_FAILED', next: 'ask_human' },
        text: expect.stringContaining('Nothing was changed'),
      });
    }
    rmdirSync(database);
    expect(await served.call('write_file', { path: 'b.txt', content: 'new\n' })).toMatchObject({ ok: true });
    expect(readFileSync(join(places.root, 'b.txt'), 'utf8')).toBe('new\n');
    expect(await served.stop()).toBe(0);
  });
});

const MOUNT = 'mount -t tmpfs -o size=4m lookfirst-test "$0"';
const canMount = spawnSync('unshare', ['-Urm', 'sh', '-c', MOUNT, '/mnt']).status === 0;

describe.skipIf(!canMount)('a state folder on a full disk (needs its own mount)', () => {
  it('can be cleaned up: gc makes room for itself', () => {
    const places = withFile();
    const library = join(dirname(PROGRAM[1] ?? ''), '../index.js');
    const write = `import { openSession } from ${JSON.stringify(library)};
      const session = await openSession({ roots: [process.cwd()] });
      for (const text of ['one', 'two', 'three']) await session.write('b.txt', (text + Math.random()).repeat(9999));
      await session.close();`;
    const script = [
      MOUNT,
      '"$1" --input-type=module -e "$3"',
      // Start once, so that the state folder holds the compiled code of the program.
      '"$1" "$2" log --kind change --json > /dev/null',
      'dd if=/dev/zero of="$0/fill" bs=4k 2> /dev/null; rm -f "$0"/lookfirst.db-shm',
      '"$1" "$2" gc --quota 1K',
    ].join('\n');
    // Without the variable, the compiled code is in the state folder.
    const env = { ...environment(places), LOOKFIRST_COMPILE_CACHE: undefined };
    const options = { cwd: places.root, env, encoding: 'utf8' } as const;
    const words = ['-Urm', 'sh', '-c', script, places.home, ...PROGRAM, write];
    const { status, stdout, stderr } = spawnSync('unshare', words, options);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^removed \d+ entries, [1-9]\d* kept image/);
  });
});
