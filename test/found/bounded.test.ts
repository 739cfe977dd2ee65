import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSession } from '../../src/session/sessions.ts';
import { PROGRAM } from '../support/command-line.ts';
import { setLimits } from '../support/limits.ts';
import { Served } from '../support/served.ts';
import { type Scratch, scratch } from '../support/tree.ts';

const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=64' };
const LINE = `${'x'.repeat(99)}\n`;

/** The ways to call the server: directly, and through the proxy. */
const DOORS: [string, (places: Scratch, args: readonly string[]) => Promise<Served>][] = [
  ['server', (places, args) => Served.start(places, args, SMALL_HEAP)],
  [
    'proxy',
    async (places, args) => {
      const [node = '', ...program] = PROGRAM;
      const behind = [node, ...program, 'serve', places.root, ...args];
      const served = Served.launch(places, ['proxy', '--root', places.root, '--', ...behind], SMALL_HEAP);
      await served.hello();
      return served;
    },
  ],
];

describe.each(DOORS)('31. answers are bounded in bytes and time through the %s', (_, start) => {
  it('a read of 60 MB is bounded in bytes under a small heap, and says so', async () => {
    const places = scratch();
    const path = join(places.root, 'large.txt');
    const fd = openSync(path, 'w');
    for (let written = 0; written < 60 << 20; written += LINE.length * 1000) writeSync(fd, LINE.repeat(1000));
    closeSync(fd);
    const served = await start(places, []);
    const read = await served.call('read_file', { path, limit: 1_000_000 });
    expect(Buffer.byteLength(read.text)).toBeLessThan(300 * 1024);
    expect(read.text).toMatch(/large\.txt lines 1-\d+ of /);
    expect(read.outcome).toMatchObject({ ok: true, complete: false });
    expect((await served.call('read_file', { path, limit: 1 })).ok).toBe(true);
    await served.stop();
  });
});

it.skipIf(process.platform !== 'linux')('a search that does not end is stopped, and says so', async () => {
  const places = scratch();
  writeFileSync(join(places.root, 'a.txt'), 'one\n');
  mkdirSync(join(places.root, '.git'));
  // Make the ignore file a pipe: ripgrep then waits until a program writes the rules into it.
  execFileSync('mkfifo', [join(places.root, '.gitignore')]);
  setLimits({ maxReadMs: 1000 });
  const session = await openSession({ roots: [places.root], home: places.home });
  onTestFinished(() => session.close());
  expect(await session.search('one')).toMatchObject({
    refusal: { detail: { reason: expect.stringContaining('before the search took too long') } },
  });
});

it('31. a change that does not fit into a small heap is refused, and the server goes on', async () => {
  const places = scratch();
  const content = `${'one\n'.repeat(20)}${LINE.repeat((60 << 20) / LINE.length)}`;
  writeFileSync(join(places.root, 'large.txt'), content);
  const served = await Served.start(places, [], SMALL_HEAP);
  await served.call('read_file', { path: 'large.txt', limit: 5 });
  const change = { path: 'large.txt', old_string: 'one\none', new_string: 'two' };
  const [edit, insert] = [
    await served.call('edit_file', change),
    await served.call('insert_lines', { path: 'large.txt', content: 'x' }),
  ];
  expect([edit.text, insert.text].join('\n').match(/\[TOO_LARGE\]/g)).toHaveLength(2);
  // The server answers without the id of a message that it could not read.
  served.call('write_file', { path: 'new.txt', content }).catch(() => undefined);
  expect((await served.call('read_file', { path: 'large.txt', limit: 1 })).ok).toBe(true);
  await served.stop();
}, 60_000);

it('31. a sparse file of 1 TB is not read to its end', async () => {
  const { root, home } = scratch();
  const path = join(root, 'sparse');
  writeFileSync(path, 'one\n');
  truncateSync(path, 2 ** 40);
  setLimits({ maxReadMs: 1000 });
  const session = await openSession({ roots: [root], home });
  onTestFinished(() => session.close());
  expect(await session.read('sparse')).toMatchObject({ ok: true, complete: false });
});
