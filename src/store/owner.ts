import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Awaitable } from '../model/awaitable.ts';
import { errnoOf, isMissing } from '../model/errno.ts';

/** This process among all that share a state. */
export interface Owner {
  /** Names this process in announced changes. */
  readonly id: string;
  /** Names this opening of the state in file names: a process may open it several times. */
  readonly tag: string;
  /** True while the process with this id runs. */
  isAlive(id: string): Awaitable<boolean>;
  /** The same for a tag, which is only ever seen by processes of the same machine. */
  isTagAlive(tag: string): boolean;
}

/** This process among those of one machine. */
export function localOwner(): Owner {
  const id = ownerOfThisProcess();
  return {
    id,
    // A colon is not allowed in file names everywhere.
    tag: `${id.replace(':', '+')}+${randomBytes(3).toString('hex')}`,
    isAlive,
    isTagAlive: (tag) => isAlive(tag.split('+').slice(0, 2).join(':')),
  };
}

/**
 * Who this process is, as `pid:start`: process ids are used again, so the moment of the start belongs to it.
 * The start is in clock ticks since boot on Linux, in milliseconds since 1970 elsewhere.
 */
export function ownerOfThisProcess(): string {
  return `${process.pid}:${startOfThisProcess()}`;
}

/**
 * True while the process that gave this identity runs. Processes of other machines, and of containers with their own
 * process ids, cannot be seen from here and count as gone: give those a state folder of their own.
 * Elsewhere than on Linux only the id is compared, unless it is our own.
 */
export function isAlive(owner: string): boolean {
  const [pid, start] = owner.split(':');
  if (pid === undefined || start === undefined || !/^[1-9]\d*$/.test(pid)) return false;
  if (Number(pid) === process.pid) return start === startOfThisProcess();
  if (process.platform === 'linux') return start === linuxStart(pid);
  return answersSignals(Number(pid));
}

function startOfThisProcess(): string {
  const start = process.platform === 'linux' ? linuxStart('self') : undefined;
  return start ?? String(Math.round(performance.timeOrigin));
}

/** Field 22 of /proc/PID/stat; undefined for a process that is gone, or dead and only waiting to be reaped. */
function linuxStart(pid: string): string | undefined {
  const stat = readStat(pid);
  if (stat === undefined) return undefined;
  // Field 2 is the program's name in parentheses and may itself hold spaces and parentheses; field 3 is the state.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function readStat(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (error) {
    // ESRCH: it ended between the opening and the reading.
    if (isMissing(error) || errnoOf(error) === 'ESRCH') return undefined;
    throw error;
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there, and another user's.
    return errnoOf(error) === 'EPERM';
  }
}
