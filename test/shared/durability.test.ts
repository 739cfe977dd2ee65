import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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
