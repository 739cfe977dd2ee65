import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { startChild } from '../support/child.ts';
import { desk, ok } from '../support/desk.ts';
import { scratch } from '../support/tree.ts';
import { Remote } from './remote.ts';

const canTrace = spawnSync('strace', ['-y', '-o', '/dev/null', 'true']).status === 0;

/** The paths that were synced during one overwrite. */
async function syncedFiles(durability: 'full' | 'none'): Promise<string[]> {
  const { root, home, base } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const trace = join(base, 'trace');
  const tracing = ['strace', '-f', '-y', '-e', 'trace=fsync,fdatasync', '-o', trace];
  const options = { roots: [root], home, session: 's', policy: { durability } };
  const child = await startChild('session-remote', options, tracing);
  const remote = new Remote('s', child);
  await child.message();
  await ok(remote.call('read', 'a.txt'));
  await ok(remote.call('write', 'a.txt', 'two\n'));
  await remote.close();
  const lines = readFileSync(trace, 'latin1').split('\n');
  return lines.flatMap((line) => /sync\(\d+<([^>]*)>/.exec(line)?.[1] ?? []);
}

describe.skipIf(!canTrace)('durability (needs strace)', () => {
  it('full also syncs the before-image and the announcement', async () => {
    const synced = await syncedFiles('full');
    expect(synced).toContainEqual(expect.stringMatching(/lookfirst\.db-wal$/));
    expect(synced).toContainEqual(expect.stringContaining(`/images/${hash('sha256', 'one\n').slice(0, 1)}/`));
    expect(synced).toContainEqual(expect.stringMatching(/\/images\/[0-9a-f]$/));
  });

  it('none does not sync them', async () => {
    const synced = await syncedFiles('none');
    expect(synced.filter((file) => file.includes('/images/'))).toEqual([]);
  });
});

/** The files whose sync had ended when the names of a replaced file were exchanged. The first write also syncs a log. */
async function syncedBeforeExchange(): Promise<string[]> {
  const { root, home, base } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  const trace = join(base, 'trace');
  // The sync of the announcement is slow here: otherwise it might end first although no code waits for it.
  const slow = ['-e', 'inject=fdatasync:delay_enter=200000'];
  const tracing = ['strace', '-f', '-y', '-e', 'trace=fsync,fdatasync,renameat2', ...slow, '-o', trace];
  const options = { roots: [root], home, session: 's', policy: { durability: 'full' } };
  const child = await startChild('session-remote', options, tracing);
  const remote = new Remote('s', child);
  await child.message();
  await ok(remote.call('read', 'a.txt'));
  await ok(remote.call('write', 'a.txt', 'two\n'));
  await ok(remote.call('write', 'a.txt', 'three\n'));
  await remote.close();
  const begun = new Map<string, string>();
  const exchanges: string[][] = [];
  let ended: string[] = [];
  for (const line of readFileSync(trace, 'latin1').split('\n')) {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (call.includes('RENAME_EXCHANGE')) {
      exchanges.push(ended);
      ended = [];
    }
    const file = /sync\(\d+<([^>]*)>/.exec(call)?.[1];
    if (file !== undefined) begun.set(thread, file);
    if (/sync(\(| resumed).*= 0( \(DELAYED\))?$/.test(call)) ended.push(begun.get(thread) ?? '');
  }
  return exchanges[1] ?? [];
}

it.skipIf(!canTrace)('full exchanges the names only after the announcement and the new bytes', async () => {
  const synced = await syncedBeforeExchange();
  expect(synced).toContainEqual(expect.stringMatching(/lookfirst\.db-wal$/));
  expect(synced).toContainEqual(expect.stringMatching(/\/\.lookfirst-[^/]*$/));
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

it('a kept file is readable by its owner only, and is restored with its own mode', async () => {
  const t = await desk();
  await t.put('a.txt', 'secret\n');
  chmodSync(join(t.root, 'a.txt'), 0o644);
  await ok(t.session.read('a.txt'));
  await ok(t.session.write('a.txt', 'two\n'));
  const sha256 = hash('sha256', 'secret\n');
  const image = join(t.home, 'images', sha256.slice(0, 1), sha256);
  expect(statSync(image).mode & 0o077).toBe(0);
  await ok(t.session.undo({}));
  expect(statSync(join(t.root, 'a.txt')).mode & 0o777).toBe(0o644);
  expect(t.text('a.txt')).toBe('secret\n');
});
