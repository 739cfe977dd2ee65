import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locks } from '../lock/locks.ts';
import type { Awaitable } from '../model/awaitable.ts';
import { errnoOf, isMissing } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Images } from './images.ts';
import type { Store } from './store.ts';

/** The resources that processes working on the same files share. One URL determines where they are. */
export interface State {
  readonly store: Store;
  readonly images: Images;
  /** Where bytes shown to sessions are kept, if not among the images. */
  readonly baselines?: Pick<Images, 'has' | 'read' | 'keepBytes'>;
  readonly locks: Locks;
  readonly owner: Owner;
  readonly revisionOf: RevisionOf;
  /** False if the state does not outlive this process. */
  readonly shared: boolean;
  close(): Promise<void>;
}

/** A machine's view of its fleet. */
export interface FleetView {
  readonly machine: string;
  /** The name of the workspace of a root, or the root itself. */
  workspaceOf(root: string): string;
}

/** The data that a process gives to a store shared by several machines. */
export interface FleetOptions {
  /** Canonical paths. */
  readonly roots: readonly string[];
  /** The workspace name of the roots. Default: the name last given for them, else a workspace of this machine alone. */
  readonly workspace?: string | undefined;
  /** True if several machines write to these roots. */
  readonly sharedWorkspace?: boolean | undefined;
  readonly imageSecrets: 'here' | 'shared';
  /** `all`: journal every read. `summary`: only the first per minute, session and file. */
  readonly reads?: 'all' | 'summary';
}

/** Identifies this process among all that share a state. */
export interface Owner {
  /** Identifies this process in announced changes. */
  readonly id: string;
  /** Identifies this opening of the state in file names: a process may open it several times. */
  readonly tag: string;
  /** True while the process with this id runs. */
  isAlive(id: string): Awaitable<boolean>;
  /** Like `isAlive`, for a tag. Only processes of the same machine see tags. */
  isTagAlive(tag: string): boolean;
}

/** Identifies this process among those of one machine. */
export function localOwner(): Owner {
  const id = ownerOfThisProcess();
  return {
    id,
    // Colons are not allowed in file names on every system.
    tag: `${id.replace(':', '+')}+${randomBytes(3).toString('hex')}`,
    isAlive,
    isTagAlive: (tag) => isAlive(tag.split('+').slice(0, 2).join(':')),
  };
}

/**
 * Identity of this process, as `pid:start`. Process ids are reused, so the start time is part of it: in clock ticks
 * since boot on Linux, in milliseconds since 1970 elsewhere.
 */
export function ownerOfThisProcess(): string {
  return `${process.pid}:${startOfThisProcess()}`;
}

/**
 * True while the process with this identity runs. Processes of other machines, and of containers with their own process
 * ids, are invisible here and count as gone: give those a separate state folder. On systems other than Linux only the
 * process id is compared, except for this process itself.
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

/** Field 22 of /proc/PID/stat. Undefined for a process that is gone, or dead but not yet reaped. */
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

/** Computes the revision of exact bytes: a token that needs the state's key. */
export type RevisionOf = (fingerprint: Fingerprint) => string;

const KEY_BYTES = 32;
const SHOWN_DIGITS = 12;

/** Opens the revisions of this state folder. The first process makes the key, and all processes share it. */
export function openRevisions(home: string): RevisionOf {
  return revisionsUnder(readKey(join(home, 'lookfirst.key')));
}

/** Uses an HMAC, not a hash: otherwise `sha256sum` would permit overwriting a file that was never read. */
export function revisionsUnder(key: KeyObject): RevisionOf {
  return ({ sha256, size }) =>
    createHmac('sha256', key).update(`${sha256}:${size}`).digest('hex').slice(0, SHOWN_DIGITS);
}

function readKey(file: string): KeyObject {
  const key = readIfThere(file) ?? makeKey(file);
  if (key.byteLength !== KEY_BYTES)
    throw new Fault('STORE_FAILED', `the revision key is damaged: delete ${file}, then start again`, {
      path: file,
    });
  return createSecretKey(key);
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes the key. It appears complete under its name; if two processes make one, the first wins. */
function makeKey(file: string): Buffer {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, randomBytes(KEY_BYTES), { flag: 'wx', mode: 0o600 });
    chmodSync(draft, 0o600);
    linkSync(draft, file);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(file);
}
