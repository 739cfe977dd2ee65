import { closeSync, constants, fstatSync, openSync, readlinkSync, statfsSync } from 'node:fs';

/**
 * How containment is enforced, strongest first.
 * `walk`: every step goes through a pinned directory handle; a swapped component cannot redirect
 * it.
 * `best-effort`: the path is checked, then used; a process that swaps components in between can
 * win.
 */
export const GUARANTEES = ['walk', 'best-effort'] as const;
export type Guarantee = (typeof GUARANTEES)[number];

/** Linux's O_PATH, for which Node has no constant: a handle to a file or folder without opening its content. */
export const O_PATH = 0o10000000;
const PROC_SUPER_MAGIC = 0x9fa0;

/**
 * The strongest guarantee of this machine, found by a probe. `LOOKFIRST_GUARANTEE=best-effort`
 * forces the weaker one, so that the code for other platforms can be tested on Linux. `doctor`
 * reports the one in force.
 */
export function strongestGuarantee(): Guarantee {
  const isForced = process.env['LOOKFIRST_GUARANTEE'] === 'best-effort';
  return !isForced && canWalk() ? 'walk' : 'best-effort';
}

export function atLeast(have: Guarantee, asked: Guarantee): boolean {
  return GUARANTEES.indexOf(have) <= GUARANTEES.indexOf(asked);
}

/** True if /proc is a real proc file system and a handle resolves to the directory it was opened on. */
function canWalk(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    if (statfsSync('/proc').type !== PROC_SUPER_MAGIC) return false;
    const fd = openSync('/', O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      return fstatSync(fd).isDirectory() && readlinkSync(`/proc/self/fd/${fd}`) === '/';
    } finally {
      closeSync(fd);
    }
  } catch {
    // If the probe fails in any way, the walk is not reliable here.
    return false;
  }
}
