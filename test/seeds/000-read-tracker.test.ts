import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asRoot, CONTAINER, startContainer } from '../support/container.ts';
import { desk, ok } from '../support/desk.ts';
import { Served } from '../support/served.ts';
import { scratch } from '../support/tree.ts';
import { allowed, type Door, openScene, refused, type SceneOptions, through } from './doors.ts';

/**
 * Requirements document 000 describes system A, which keeps a set of the canonical paths that were
 * read. The numbers in titles are rows of the audit of these requirements.
 */
describe('000 Read tracker', () => {
  const A: SceneOptions = { preset: 'sandbox', dialect: 'sandbox' };
  const LOCAL = ['library', 'server'] as const;
  // The program behind hooks reads files and reports its own errors.
  const ASKED: readonly Door[] = ['library', 'server', 'proxy'];

  through('0.1 The contract: a successful Read marks the path', A, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    await allowed(t.write('a.txt', 'two\n'));
    expect(t.text('a.txt')).toBe('two\n');
  });

  through('0.2 The contract: Write over an unread file is refused in these words', A, async (t) => {
    t.put('a.txt', 'one\n');
    const text = await refused(t.write('a.txt', 'two\n'), 'NOT_READ');
    expect(text.startsWith(`refusing to overwrite ${t.named('a.txt')}: Read it first`), text).toBe(true);
    expect(t.text('a.txt')).toBe('one\n');
  });

  // In hooks, an empty answer to a read may mean that the program has cut it.
  through('0.3 The contract: an empty file exists, too', { ...A, doors: ASKED }, async (t) => {
    t.put('empty.txt', '');
    await refused(t.write('empty.txt', 'x'), 'NOT_READ');
    await allowed(t.read('empty.txt'));
    await allowed(t.write('empty.txt', 'x'));
  });

  through('0.4 The contract: a new file needs no Read', { ...A, doors: LOCAL }, async (t) => {
    await allowed(t.write('new/nested/file.txt', 'x'));
    expect(t.text('new/nested/file.txt')).toBe('x');
  });

  through('0.4 The contract: a new file needs no Read, nor in a folder that is there', A, async (t) => {
    await allowed(t.write('file.txt', 'x'));
    expect(t.text('file.txt')).toBe('x');
  });

  through('0.5 The contract: Edit always needs a Read, and a missing file is missing first', A, async (t) => {
    t.put('a.txt', 'one\n');
    const text = await refused(t.edit('a.txt', 'one', 'two'), 'NOT_READ');
    expect(text).toContain(`refusing to edit ${t.named('a.txt')}: Read it first`);
    // With the proxy, the server behind it words this error itself; behind hooks, the program does.
    if (t.door !== 'hooks')
      expect((await t.edit('missing.txt', 'one', 'two')).text).toMatch(/there is no|no such file/);
  });

  through('0.6 The contract: a successful Write marks the path', A, async (t) => {
    await allowed(t.write('a.txt', 'one\n'));
    await allowed(t.edit('a.txt', 'one', 'two'));
    await allowed(t.edit('a.txt', 'two', 'three'));
    expect(t.text('a.txt')).toBe('three\n');
  });

  through('0.7 The contract: a failed Read marks nothing', A, async (t) => {
    await t.read('later.txt');
    t.put('later.txt', 'x');
    await refused(t.write('later.txt', 'y'), 'NOT_READ');
  });

  through('0.8 Why canonical paths: a link and its target are one entry', A, async (t) => {
    t.put('real.txt', 'one\n');
    symlinkSync('real.txt', join(t.root, 'link.txt'));
    await allowed(t.read('link.txt'));
    await allowed(t.edit('real.txt', 'one', 'two'));
    expect(t.text('real.txt')).toBe('two\n');
  });

  // Hooks name their sessions, so those go on in the next process.
  through('0.9 Lifetime: one tracker per server, kept nowhere else', { ...A, doors: ASKED }, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    await refused((await t.restarted()).write('a.txt', 'two\n'), 'NOT_READ');
  });

  it('0.10 Lifetime: no TTL', async () => {
    let nowMs = Date.now();
    const t = await desk({ preset: 'sandbox', now: () => nowMs });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    nowMs += 365 * 24 * 60 * 60 * 1000;
    await ok(t.session.write('a.txt', 'two\n'));
  });

  it('0.11 Lifetime: no eviction', async () => {
    const t = await desk({ preset: 'sandbox', store: 'memory:' });
    const count = 10_050;
    mkdirSync(join(t.root, 'many'));
    for (let n = 0; n < count; n += 1) writeFileSync(join(t.root, 'many', String(n)), 'x');
    for (let n = 0; n < count; n += 1) await ok(t.session.read(`many/${n}`));
    await ok(t.session.write('many/0', 'y'));
  });

  through('0.12 Concurrency: calls at once are safe', A, async (t) => {
    const names = Array.from({ length: 40 }, (_, n) => `${n}.txt`);
    for (const name of names) t.put(name, 'one\n');
    await Promise.all(names.map(async (name) => allowed(t.read(name))));
    await Promise.all(names.map(async (name) => allowed(t.edit(name, 'one', name))));
    expect(names.map((name) => t.text(name))).toEqual(names.map((name) => `${name}\n`));
  });

  through('0.13 Interaction with Bash: what it changes is told, and gone text is not found', A, async (t) => {
    t.put('a.txt', 'one\n');
    await allowed(t.read('a.txt'));
    t.put('a.txt', 'foo\n');
    await refused(t.edit('a.txt', 'one', 'two'), 'NO_MATCH');
    expect(t.text('a.txt')).toBe('foo\n');
    expect(await allowed(t.write('a.txt', 'two\n'))).toMatch(/modified externally/);
  });

  through(
    '0.13 Interaction with Bash: its changes do not update the tracker',
    { ...A, doors: ['library', 'server', 'hooks'] },
    async (t) => {
      t.put('read.txt', 'one\n');
      t.put('unread.txt', 'one\n');
      await allowed(t.read('read.txt'));
      // A script, because hooks judge a command line whose writes they know.
      t.put('change.sh', 'sed -i s/one/foo/ *.txt; cat *.txt\n');
      await allowed(t.run('sh change.sh'));
      expect(t.text('unread.txt')).toBe('foo\n');
      await refused(t.edit('unread.txt', 'foo', 'two'), 'NOT_READ');
      await refused(t.write('unread.txt', 'two\n'), 'NOT_READ');
      await refused(t.edit('read.txt', 'one', 'two'), 'NO_MATCH');
      await allowed(t.edit('read.txt', 'foo', 'two'));
      expect(t.text('read.txt')).toBe('two\n');
    },
  );

  it('0.14 Interaction with Bash: Bash is offered beside Read, Write and Edit if commands are allowed', async () => {
    const places = scratch();
    const names = async (args: readonly string[]): Promise<unknown[]> => {
      const served = await Served.here(places, ['--preset', 'sandbox', '--dialect', 'sandbox', ...args]);
      return (await served.tools()).map(({ name }) => name);
    };
    expect(await names([])).not.toContain('Bash');
    const t = await openScene('server', A);
    expect(await allowed(t.run('echo shown; echo written > a.txt'))).toContain('shown');
    expect(t.text('a.txt')).toBe('written\n');
    expect(await names(['--allow-commands'])).toEqual(
      expect.arrayContaining(['Read', 'Write', 'Edit', 'Bash']),
    );
  });

  it.skipIf(CONTAINER === 'none' && process.env['CI'] !== 'true')(
    `0.15 Lifetime: one container per agent session, as an ordinary user on a mounted workspace (${CONTAINER})`,
    async () => {
      const places = scratch();
      writeFileSync(join(places.root, 'a.txt'), 'one\n');
      const first = await startContainer(places);
      const content = 'two\n';
      expect((await first.call('write_file', { path: 'a.txt', content })).outcome['code']).toBe('NOT_READ');
      await first.call('read_file', { path: 'a.txt' });
      const second = await startContainer(places);
      expect((await second.call('write_file', { path: 'a.txt', content })).outcome['code']).toBe('NOT_READ');
      expect((await first.call('write_file', { path: 'a.txt', content })).text).toContain('wrote 4 bytes');
      expect(readFileSync(join(places.root, 'a.txt'), 'utf8')).toBe('two\n');
      const outside = await first.call('read_file', { path: '/etc/passwd' });
      expect(outside.outcome['code']).toBe('OUTSIDE_WORKSPACE');
      expect(asRoot(places)).toMatchObject({
        status: 64,
        stderr: expect.stringContaining('must not run as root'),
      });
    },
  );

  through('0.16 Not security: a file that was deleted is a new one', A, async (t) => {
    t.put('a.txt', 'one\n');
    rmSync(join(t.root, 'a.txt'));
    await allowed(t.write('a.txt', 'two\n'));
  });
});
