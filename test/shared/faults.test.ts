import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startChild } from '../support/child.ts';
import { scratch } from '../support/tree.ts';

const mount = 'mount -t tmpfs -o size=4m lookfirst-test "$0" && exec "$@"';
const canMount = spawnSync('unshare', ['-Urm', 'sh', '-c', mount, '/mnt', 'true']).status === 0;

interface Told {
  readonly name: string;
  readonly room: number;
  readonly ended: string;
  readonly isAsBefore: boolean;
  readonly pending: number;
  readonly journalled: number;
  readonly undone?: string;
  readonly isBack: boolean;
}

async function onFailingDisk(settings: object): Promise<Told[]> {
  const { base, root } = scratch();
  const disk = join(base, 'disk');
  mkdirSync(disk);
  const child = await startChild('session-faults', { root, disk, ...settings }, ['unshare', '-Urm', 'sh', '-c', mount, disk]);
  return child.message<Told[]>();
}

describe.skipIf(!canMount)('the disk of our state', () => {
  it('debug', async () => {
    console.table(await onFailingDisk({ fails: 'read-only', auditFailure: 'refuse', room: [0] }));
    console.table(await onFailingDisk({ fails: 'read-only', auditFailure: 'allow', room: [0] }));
    console.table(await onFailingDisk({ fails: 'full', auditFailure: 'refuse', room: Array.from({ length: 20 }, (_, i) => i * 8192) }));
    expect(1).toBe(1);
  });
});
