import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { startChild } from '../support/child.ts';
import { desk, ok } from '../support/desk.ts';
import { Remote } from '../support/remote.ts';
import { scratch } from '../support/tree.ts';

const canTrace = spawnSync('strace', ['-y', '-o', '/dev/null', 'true']).status === 0;

/** Too large for a row of the database: its before-image is a file. */
const LARGE = 'a line of text\n'.repeat(20_000);

/** The paths that were synced during one overwrite. */
async function syncedFiles(durability: 'full' | 'none', text: string = 'one\n'): Promise<string[]> {
  const { root, home, base } = scratch();
  writeFileSync(join(root, 'a.txt'), text);
  const trace = join(base, 'trace');
  const tracing = ['strace', '-f', '-y', '-e', 'trace=fsync,fdatasync', '-o', trace];
  const options = { roots: [root], home, session: 's', policy: { durability } };
  const child = await startChild('session-remote', options, tracing);
  const remote = new Remote('s', child);
  await child.message();
  await ok(remote.call('read', 'a.txt'));
  await ok(remote.call('insert', 'a.txt', 'two\n'));
  await remote.close();
  const lines = readFileSync(trace, 'latin1').split('\n');
  return lines.flatMap((line) => /sync\(\d+<([^>]*)>/.exec(line)?.[1] ?? []);
}

describe.skipIf(!canTrace)('durability (needs strace)', () => {
  it('full also syncs the announcement with the before-image, and a large before-image', async () => {
    expect(await syncedFiles('full')).toContainEqual(expect.stringMatching(/lookfirst\.db-wal$/));
    const synced = await syncedFiles('full', LARGE);
    expect(synced).toContainEqual(expect.stringMatching(new RegExp(`/blobs/${hash('sha256', LARGE)}$`)));
    expect(synced).toContainEqual(expect.stringMatching(/\/blobs$/));
  });

  it('none does not sync a large one', async () => {
    const synced = await syncedFiles('none', LARGE);
    expect(synced.filter((file) => file.includes('/blobs'))).toEqual([]);
  });
});

/**
 * The system calls of one overwrite, in the order in which they ended. Each is a synced file,
 * `exchange`, or `log` for a page of the journal.
 */
async function traced({ slow, threads }: { slow: string; threads: number }): Promise<string[]> {
  const { root, home, base } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const trace = join(base, 'trace');
  // Slow the syncs down: otherwise they might end in time even if no code waits for them. With one thread, they end in
  // the order in which they began.
  const delay = ['-e', `inject=${slow}:delay_enter=200000`];
  const calls = 'trace=fsync,fdatasync,renameat2,pwrite64';
  const pool = ['env', `UV_THREADPOOL_SIZE=${threads}`];
  const tracing = [...pool, 'strace', '-f', '-y', '-e', calls, ...delay, '-o', trace];
  const options = { roots: [root], home, session: 's', policy: { durability: 'full' } };
  const child = await startChild('session-remote', options, tracing);
  const remote = new Remote('s', child);
  await child.message();
  await ok(remote.call('read', 'a.txt'));
  await ok(remote.call('write', 'a.txt', 'two\n'));
  // Discards the trace of the first write, because that write also syncs a log.
  writeFileSync(trace, '');
  await ok(remote.call('write', 'a.txt', 'three\n'));
  const text = readFileSync(trace, 'latin1');
  await remote.close();
  const begun = new Map<string, string>();
  return text.split('\n').flatMap((line) => {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (call.includes('RENAME_EXCHANGE')) return ['exchange'];
    if (/^pwrite64\(\d+<[^>]*-wal>/.test(call)) return ['log'];
    const file = /sync\(\d+<([^>]*)>/.exec(call)?.[1];
    if (file !== undefined) begun.set(thread, file.replace(root, 'ROOT').replace(home, 'HOME'));
    return /sync(\(| resumed).*= 0( \(DELAYED\))?$/.test(call) ? [begun.get(thread) ?? ''] : [];
  });
}

it.skipIf(!canTrace)('full exchanges the names only after the announcement and the new bytes', async () => {
  const calls = await traced({ slow: 'fdatasync', threads: 4 });
  const synced = calls.slice(0, calls.indexOf('exchange'));
  expect(synced).toContainEqual(expect.stringMatching(/lookfirst\.db-wal$/));
  expect(synced).toContainEqual(expect.stringMatching(/\/\.lookfirst-[^/]*$/));
});

it.skipIf(!canTrace)('full records a change only after the names', async () => {
  const calls = await traced({ slow: 'fsync', threads: 1 });
  const after = calls.slice(calls.indexOf('exchange') + 1);
  expect(after.slice(0, after.indexOf('log'))).toEqual(['ROOT']);
});

it.skipIf(!canTrace)('a replacement whose name cannot be synced is taken back', async () => {
  const { root, home } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  // Every sync of the folder fails, also while Lookfirst reverts the replacement.
  const failing = ['strace', '-f', '-o', '/dev/null', '-P', root, '-e', 'inject=fsync:error=EIO'];
  const options = { roots: [root], home, session: 's', policy: { durability: 'full' } };
  const child = await startChild('session-remote', options, failing);
  const remote = new Remote('s', child);
  await child.message();
  await ok(remote.call('read', 'a.txt'));
  await expect(remote.call('write', 'a.txt', 'two\n')).rejects.toThrow(
    /^IO_FAILED: [^;]*\(EIO\); nothing was changed$/,
  );
  expect(readFileSync(join(root, 'a.txt'), 'utf8')).toBe('one\n');
  expect(readdirSync(root)).toEqual(['a.txt']);
  await remote.close();
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  const { store } = sessions.world;
  expect(await store.pending()).toEqual([]);
  expect(await store.entries({ kinds: ['change'] })).toEqual([]);
});

it('a replacement that cannot be announced leaves no temporary file', async () => {
  const t = await desk();
  await t.put('a.txt', 'one\n');
  await ok(t.session.read('a.txt'));
  await ok(t.session.write('a.txt', 'two\n'));
  renameSync(join(t.home, 'lookfirst.db'), join(t.home, 'elsewhere'));
  await expect(t.session.write('a.txt', 'three\n')).rejects.toMatchObject({ code: 'STORE_FAILED' });
  expect(readdirSync(t.root)).toEqual(['a.txt']);
  expect(t.text('a.txt')).toBe('two\n');
});

it('a replacement whose new bytes cannot be written is not pending afterwards', async () => {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  const session = await sessions.session('ann');
  const { disk, store } = sessions.world;
  writeFileSync(join(root, 'a.txt'), 'one\n');
  await ok(session.read('a.txt'));
  const trace = (step: string): void => {
    if (step === 'temp-write') throw Object.assign(new Error('injected'), { code: 'ENOSPC' });
  };
  Object.assign(disk, { trace });
  await expect(session.write('a.txt', 'two\n')).rejects.toMatchObject({
    code: 'IO_FAILED',
    reason: 'ENOSPC',
  });
  expect(await store.pending()).toEqual([]);
  expect(readdirSync(root)).toEqual(['a.txt']);
  Object.assign(disk, { trace: undefined });
  await ok(session.write('a.txt', 'two\n'));
});

it('kept bytes are readable by their owner only, and are restored with their own mode', async () => {
  const t = await desk();
  await t.put('a.txt', 'secret\n');
  chmodSync(join(t.root, 'a.txt'), 0o644);
  await ok(t.session.read('a.txt'));
  await ok(t.session.write('a.txt', 'two\n'));
  for (const name of ['lookfirst.db', 'retained'])
    expect(statSync(join(t.home, name)).mode & 0o077, name).toBe(0);
  await ok(t.session.undo({}));
  expect(statSync(join(t.root, 'a.txt')).mode & 0o777).toBe(0o644);
  expect(t.text('a.txt')).toBe('secret\n');
});
