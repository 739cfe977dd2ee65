import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errnoOf, isMissing, unlessErrno } from '../model/fault.ts';

/** Identifies this process among all that share a state. */
export interface Owner {
  /** Identifies this process in the records of changes that it has begun. */
  readonly id: string;
  /**
   * Identifies this process in file names. If a process opens the state several times, each opening
   * has its own tag.
   */
  readonly tag: string;
  /** True while the process with this id runs. */
  isAlive(id: string): Promise<boolean>;
  /** Like `isAlive`, for a tag. Only processes of the same machine see tags. */
  isTagAlive(tag: string): boolean;
}

/** Identifies this process among those of one machine. */
export function localOwner(): Owner {
  const id = ownerOfThisProcess();
  return {
    id,
    tag: tagOf(id),
    isAlive: async (owner) => isAlive(owner),
    isTagAlive,
  };
}

function tagOf(id: string): string {
  // Replace the colon: some systems do not allow colons in file names.
  return `${id.replace(':', '+')}+${randomBytes(3).toString('hex')}`;
}

/** True while the process with this tag runs. */
export function isTagAlive(tag: string): boolean {
  return isAlive(tag.split('+').slice(0, 2).join(':'));
}

/**
 * A tag for the process with this id, if `argument` is among its arguments. Undefined for any other
 * process, such as one with the same id in another container.
 */
export function tagOfProcess(pid: string, argument: string): string | undefined {
  const start = /^\d+$/.test(pid) ? linuxStart(pid) : undefined;
  const words = unlessErrno(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'));
  return start !== undefined && words?.includes(argument) === true ? tagOf(`${pid}:${start}`) : undefined;
}

/**
 * Identity of this process, as `pid:start`. Process ids are reused, so the start time is part of it: in clock ticks
 * since boot on Linux, in milliseconds since 1970 elsewhere.
 */
export function ownerOfThisProcess(): string {
  return `${process.pid}:${startOfThisProcess()}`;
}

/**
 * True while the process with this identity runs. Processes of other machines, or of containers
 * with their own process ids, always count as gone: give them a separate state folder. Outside
 * Linux, start times of other processes are not compared.
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

/**
 * The start time of a process: field 22 of /proc/PID/stat. Undefined for a process that is gone, or
 * dead but not yet reaped.
 */
function linuxStart(pid: string): string | undefined {
  const stat = readStat(pid);
  if (stat === undefined) return undefined;
  // Field 2 is the program's name in parentheses and may itself contain spaces and parentheses. Field 3 is the state.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function readStat(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (error) {
    // ESRCH: the process ended between opening and reading.
    if (isMissing(error) || errnoOf(error) === 'ESRCH') return undefined;
    throw error;
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return errnoOf(error) === 'EPERM';
  }
}
