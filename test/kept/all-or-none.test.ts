import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startChild } from '../support/child.ts';
import { IS_LONG } from '../support/rounds.ts';
import { scratch } from '../support/tree.ts';

interface Told {
  readonly ended: string;
  /**
   * The number of lines that differ between two listings of the tree: one from before the change,
   * one from after it.
   */
  readonly changed: number;
  readonly missing: number;
}

const CHANGES = ['create', 'edit', 'delete', 'undo'] as const;
/**
 * Descriptor limits per change. `undo` begins at 96, because with 64 the changes that it undoes
 * could not be made.
 */
const LIMITS = {
  create: [64, 128, 4096],
  edit: [64, 128, 4096],
  delete: [64, 128, 4096],
  undo: [96, 128, 4096],
} as const;
/**
 * `npm run attack` tries every limit. `npm test` tries the lowest limit of each change, and one that
 * suffices.
 */
const limitsOf = (change: (typeof CHANGES)[number]): readonly number[] =>
  IS_LONG ? LIMITS[change] : [LIMITS[change][0], ...(change === 'edit' ? [4096] : [])];
const NOTHING = { changed: 0, missing: 0 };

describe('a change of many files where descriptors run out', () => {
  // With the last limit, the change must succeed. With the limits before it, the change may fail.
  it.each(CHANGES.flatMap((change) => limitsOf(change).map((limit) => ({ change, limit }))))(
    '$change with $limit descriptors is done, or changes nothing',
    async ({ change, limit }) => {
      const { root, home } = scratch();
      const within = ['sh', '-c', `ulimit -n ${limit}; exec "$@"`, 'sh'];
      const child = await startChild(
        'session-batch',
        { root, home, change, count: IS_LONG ? 300 : 110 },
        within,
      );
      const told = await child.message<Told>();
      if (limit === 4096) expect(told.ended).toBe('done');
      if (told.ended !== 'done') expect(told).toMatchObject(NOTHING);
    },
  );
});

const mount = 'mount -t tmpfs -o size=16m lookfirst-test "$0" && exec "$@"';
const canMount = spawnSync('unshare', ['-Urm', 'sh', '-c', mount, '/mnt', 'true']).status === 0;

describe.skipIf(!canMount)('a change of many files on a disk that fills up (needs its own mount)', () => {
  const ROOMS = [64, 160, 4096].map((kilobytes) => kilobytes * 1024);
  const STATES = ['on the same disk', 'on another disk'] as const;
  const cases = CHANGES.flatMap((change) =>
    ROOMS.flatMap((room, at) => STATES.map((state, other) => ({ change, room, state, at, other }))),
  );
  // The cases of `npm test`. All of them have the state folder on the same disk. Every change is
  // made with the middle amount of space. Edits and undos are also made with enough
  // space.
  const isShort = ({ change, at, other }: (typeof cases)[number]): boolean =>
    other === 0 && (at === 1 || (at === 2 && (change === 'edit' || change === 'undo')));
  it.each(cases.filter((each) => IS_LONG || isShort(each)))(
    '$change with $room bytes left, and our state $state, is done or changes nothing',
    async ({ change, room, state }) => {
      const { base, home } = scratch();
      const disk = join(base, 'disk');
      mkdirSync(disk);
      const within = ['unshare', '-Urm', 'sh', '-c', mount, disk];
      const places = {
        root: join(disk, 'root'),
        home: state === 'on another disk' ? home : join(disk, 'home'),
      };
      const child = await startChild('session-batch', { ...places, change, count: 30, room }, within);
      const told = await child.message<Told>();
      if (room === ROOMS.at(-1)) expect(told.ended).toBe('done');
      if (told.ended !== 'done') expect(told).toMatchObject(NOTHING);
    },
  );
});
