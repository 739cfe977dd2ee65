import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startChild } from '../support/child.ts';
import { scratch } from '../support/tree.ts';

const mount = 'mount -t tmpfs -o size=100k lookfirst-test "$0" && exec "$@"';
const canMount = spawnSync('unshare', ['-Urm', 'sh', '-c', mount, '/mnt', 'true']).status === 0;

interface Report {
  readonly ended: Readonly<Record<string, string>>;
  readonly names: readonly string[];
  readonly halves: readonly string[];
  readonly intact: boolean;
}

async function onFullDisk(full: 'root' | 'home', commit: 'exchange' | 'claim'): Promise<Report> {
  const places = scratch();
  const disk = join(places.base, 'disk');
  mkdirSync(disk);
  const settings = {
    root: full === 'root' ? join(disk, 'root') : places.root,
    home: full === 'home' ? join(disk, 'home') : places.home,
    full: full === 'root' ? join(disk, 'root') : join(disk, 'home'),
    commit,
  };
  const child = await startChild('kernel-full-disk', settings, ['unshare', '-Urm', 'sh', '-c', mount, disk]);
  return child.message<Report>();
}

describe.skipIf(!canMount)('when the disk is full (needs its own mount)', () => {
  it.each(['exchange', 'claim'] as const)(
    'and it is the disk of the workspace, %s leaves the old file and names the target',
    async (commit) => {
      const report = await onFullDisk('root', commit);
      expect(report).toMatchObject({
        ended: {
          f: 'ENOSPC: could not change f: no space left on the device (ENOSPC)',
          new: 'ENOSPC: could not change new: no space left on the device (ENOSPC)',
          // The removal of `f` needs no space on the full disk: the file moves to the disk of the
          // state folder.
          'f ': 'done',
        },
        names: [],
        halves: [],
        intact: true,
      });
    },
  );

  it.each(['exchange', 'claim'] as const)(
    'and it is the disk of our state, %s leaves the old file',
    async (commit) => {
      const report = await onFullDisk('home', commit);
      const failed = 'ENOSPC: could not change f: no space left on the disk of the state folder (ENOSPC)';
      expect(report).toMatchObject({
        ended: { f: failed, new: 'done', 'f ': failed },
        names: ['f', 'new'],
        halves: [],
        intact: true,
      });
    },
  );
});
