import { hash } from 'node:crypto';
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTaken, unlessMissing } from '../model/fault.ts';
import { KeyedMutex, type LockMode } from '../model/waiting.ts';
import { nativeExtensions } from './native-package.ts';

interface LockOptions {
  /** Our state folder; processes with the same folder exclude each other. */
  readonly home: string;
  readonly owner: string;
  isAlive(owner: string): boolean;
  /** `owner`: use lock files that name their owner instead of kernel locks, for tests. */
  readonly use?: 'owner';
}

const FIRST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 25;
/** Number of files with kernel locks: 20,000 locks take 2.7 s of CPU in one file, 0.95 s in eight. */
const FILES = 8;

/**
 * One writer per file. A change to a file also takes shared locks on the folders above it. A move
 * or removal of a folder locks it exclusively, so that nothing in it changes meanwhile.
 */
export interface Locks {
  /**
   * Waits for all keys, and returns the function that releases them. Undefined if one of the keys
   * stays locked for `timeoutMs`. That time starts again whenever an earlier request of this
   * process finishes. Keys are canonical paths.
   */
  acquire(keys: readonly string[], timeoutMs: number): Promise<(() => void) | undefined>;
  /** Throws a Fault if another machine may have taken the keys. Absent if no other machine can. */
  mustHold?(): void;
  close(): void;
}

/**
 * Locks between the processes on one machine that share a state folder. All of them acquire locks
 * in the same order, so two batches cannot deadlock.
 */
export class LocalLocks implements Locks {
  readonly #mutex = new KeyedMutex<number>();
  readonly #processes: ProcessLock;
  /**
   * For each slot (lock number): how many requests of this process share it. Only the first of them
   * takes the lock between processes.
   */
  readonly #shared = new Map<number, number>();

  constructor(options: LockOptions) {
    const { home, owner, isAlive, use } = options;
    const [ranges, folder] = [join(home, 'lock-ranges'), join(home, 'lock-files')];
    mkdirSync(ranges, { recursive: true, mode: 0o700 });
    const files = Array.from({ length: FILES }, (_, number) => join(ranges, String(number)));
    this.#processes =
      use === 'owner'
        ? openOwnerLock(folder, owner, isAlive)
        : openProcessLock({ files, folder, owner, isAlive });
  }

  async acquire(keys: readonly string[], timeoutMs: number): Promise<(() => void) | undefined> {
    const held: Slot[] = [];
    let isHeld = false;
    try {
      for (const slot of slotsOf(keys)) {
        if (!this.#tryEnter(slot) && !(await this.#enter(slot, timeoutMs))) return undefined;
        held.push(slot);
      }
      isHeld = true;
      return () => this.#leaveAll(held);
    } finally {
      if (!isHeld) this.#leaveAll(held);
    }
  }

  close(): void {
    this.#processes.close();
  }

  #tryEnter([slot, sharing]: Slot): boolean {
    if (!this.#mutex.tryEnter(slot, sharing)) return false;
    let isHeld = false;
    try {
      isHeld = this.#tryAcquire(slot, sharing);
    } finally {
      if (!isHeld) this.#mutex.leave(slot);
    }
    return isHeld;
  }

  async #enter([slot, sharing]: Slot, timeoutMs: number): Promise<boolean> {
    // Do not use the machine's clock, which can be set back while this waits.
    const begun = performance.now();
    const leave = await this.#mutex.acquire(slot, sharing, timeoutMs);
    if (leave === undefined) return false;
    let isHeld = false;
    try {
      const deadline = Math.max(begun, this.#mutex.doneAt(slot)) + timeoutMs;
      isHeld = await this.#waitFor(slot, sharing, deadline);
    } finally {
      if (!isHeld) leave();
    }
    return isHeld;
  }

  /** Releases the last lock first. */
  #leaveAll(held: Slot[]): void {
    for (let last = held.pop(); last !== undefined; last = held.pop()) {
      const [slot, sharing] = last;
      this.#mutex.noteDone(slot);
      this.#release(slot, sharing);
      this.#mutex.leave(slot);
    }
  }

  async #waitFor(slot: number, sharing: LockMode, deadline: number): Promise<boolean> {
    for (let waitMs = FIRST_WAIT_MS; !this.#tryAcquire(slot, sharing); ) {
      if (performance.now() >= deadline) return false;
      await sleep(waitMs);
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
    return true;
  }

  #tryAcquire(slot: number, sharing: LockMode): boolean {
    const sharers = this.#shared.get(slot) ?? 0;
    if (sharers === 0 && !this.#processes.tryAcquire(slot, sharing)) return false;
    if (sharing === 'together') this.#shared.set(slot, sharers + 1);
    return true;
  }

  #release(slot: number, sharing: LockMode): void {
    const sharers = this.#shared.get(slot) ?? 0;
    if (sharers > 1) {
      this.#shared.set(slot, sharers - 1);
      return;
    }
    this.#shared.delete(slot);
    this.#processes.release(slot, sharing);
  }
}

type Slot = readonly [number, LockMode];
type Slots = readonly Slot[];

/**
 * The lock numbers (slots) of the keys and of the folders above them, in the order in which all
 * processes acquire them. Folders come before their contents: a request that waits for a folder
 * must not hold files that others need. At equal depth the highest number comes first: rising order
 * is slower.
 */
export function slotsOf(keys: readonly string[]): Slots {
  const wanted = new Map<number, { readonly sharing: LockMode; readonly depth: number }>();
  for (const key of keys)
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
      const folder = key.slice(0, end);
      wanted.set(slotOf(folder), { sharing: 'together', depth: depthOf(folder) });
    }
  for (const key of keys) wanted.set(slotOf(key), { sharing: 'alone', depth: depthOf(key) });
  return [...wanted]
    .sort(([slotA, a], [slotB, b]) => a.depth - b.depth || slotB - slotA)
    .map(([slot, { sharing }]) => [slot, sharing]);
}

function depthOf(key: string): number {
  let depth = 0;
  for (let at = key.indexOf('/'); at !== -1; at = key.indexOf('/', at + 1)) depth += 1;
  return depth;
}

/** The lock number of a key. A collision would only cause needless waiting, and is negligible with 48 bits. */
function slotOf(key: string): number {
  return Number.parseInt(hash('sha256', key, 'hex').slice(0, 12), 16);
}

/** The keys that are neither locked nor in a locked folder. */
export function notLocked(keys: readonly string[], locked: readonly string[]): readonly string[] {
  const all = new Set(locked);
  return keys.filter((key) => !all.has(key) && !isBelowOne(key, all));
}

/** Keys that are not inside another of these keys: the lock of a folder covers its contents. */
export function outermostKeys(keys: readonly string[]): readonly string[] {
  const all = new Set(keys);
  return [...all].filter((key) => !isBelowOne(key, all));
}

function isBelowOne(key: string, folders: ReadonlySet<string>): boolean {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1))
    if (folders.has(key.slice(0, end))) return true;
  return false;
}

/**
 * Locks between processes. Each slot (a number) is one lock. If a process is killed, the kernel
 * releases its locks, or other processes detect that their owner is dead.
 */
interface ProcessLock {
  /**
   * False if another process holds a conflicting lock. Callers never request a slot that this
   * process already holds. Without `sharing` the lock is exclusive.
   */
  tryAcquire(slot: number, sharing?: LockMode): boolean;
  release(slot: number, sharing?: LockMode): void;
  close(): void;
}

interface NativeLocks {
  tryLock(fd: number, offset: number, length: number, options?: { readonly shared: boolean }): boolean;
  unlock(fd: number, offset: number, length: number): void;
}

const SHARED = { shared: true } as const;

/**
 * Locks one byte per slot. The kernel releases such locks however the process ends. The slots are
 * spread over the files: for every new lock, the kernel searches all locks on its file. All files
 * are opened at the start: later the process may lack handles or rights. Undefined on systems other
 * than Linux, or if the native helper has no build.
 */
export function openRangeLock(...files: readonly string[]): ProcessLock | undefined {
  const native = process.platform === 'linux' ? loadNative() : undefined;
  if (native === undefined) return undefined;
  const lists = files.map((file) => openSync(file, 'a+', 0o600));
  const listOf = (slot: number): number => lists[slot % lists.length] as number;
  return {
    tryAcquire: (slot, sharing = 'alone') =>
      sharing === 'alone'
        ? native.tryLock(listOf(slot), slot, 1)
        : native.tryLock(listOf(slot), slot, 1, SHARED),
    release: (slot) => native.unlock(listOf(slot), slot, 1),
    close: () => {
      for (const fd of lists) closeSync(fd);
    },
  };
}

function loadNative(): NativeLocks | undefined {
  try {
    // The package has no types; `NativeLocks` declares the part we use.
    return nativeExtensions() as NativeLocks;
  } catch {
    return undefined;
  }
}

interface ProcessLockOptions {
  /** The files for kernel locks, used if these are available. */
  readonly files: readonly string[];
  /** The folder with one file per lock, used if kernel locks are not available. */
  readonly folder: string;
  readonly owner: string;
  isAlive(owner: string): boolean;
}

/** Opens the best lock between processes that this machine supports. */
export function openProcessLock({ files, folder, owner, isAlive }: ProcessLockOptions): ProcessLock {
  return openRangeLock(...files) ?? openOwnerLock(folder, owner, isAlive);
}

/**
 * Locks by files, for systems without kernel locks. An exclusive lock is one file per slot. A
 * shared lock is one file per slot and owner. Owners include the process start time, because
 * process ids are reused. A lock whose file is missing counts as released.
 */
export function openOwnerLock(
  folder: string,
  owner: string,
  isAlive: (owner: string) => boolean,
): ProcessLock {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = join(folder, `${owner}.owner`);
  writeFileSync(own, owner, { mode: 0o600 });
  const fileOf = (slot: number): string => join(folder, slot.toString(36));
  const markOf = (slot: number): string => `${fileOf(slot)}~${owner}`;
  const unlink = (file: string): void => unlessMissing(() => unlinkSync(file));
  const isHeld = (file: string): boolean => {
    const holder = holderOf(file);
    if (holder === undefined) return false;
    if (holder === owner || isAlive(holder)) return true;
    evict(file, holder);
    return holderOf(file) !== undefined;
  };
  /**
   * Removes a dead owner's lock file. The guard file lets one process at a time do so: a second one
   * could remove the file of a process that has taken the lock meanwhile.
   */
  const evict = (file: string, dead: string): void => {
    const guard = `${file}.evict`;
    if (!linked(own, guard)) {
      isHeld(guard);
      return;
    }
    if (holderOf(file) === dead) unlink(file);
    unlink(guard);
  };
  const isShared = (slot: number): boolean =>
    readdirSync(folder).some(
      (name) => name.startsWith(`${slot.toString(36)}~`) && isHeld(join(folder, name)),
    );

  // Create our file before checking for others. If two processes try at once, at least one of them
  // then sees the file of the other.
  const takeAlone = (slot: number): boolean => {
    if (!linked(own, fileOf(slot))) {
      isHeld(fileOf(slot));
      return false;
    }
    if (!isShared(slot)) return true;
    unlinkSync(fileOf(slot));
    return false;
  };
  const takeTogether = (slot: number): boolean => {
    linked(own, markOf(slot));
    if (!isHeld(fileOf(slot))) return true;
    unlinkSync(markOf(slot));
    return false;
  };
  return {
    tryAcquire: (slot, sharing = 'alone') => (sharing === 'alone' ? takeAlone(slot) : takeTogether(slot)),
    release: (slot, sharing = 'alone') => unlink(sharing === 'alone' ? fileOf(slot) : markOf(slot)),
    close: () => unlink(own),
  };
}

/**
 * Creates the lock file `to` as a hard link to the complete file `from`, so that it never lacks its
 * owner's name. False if `to` exists.
 */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
}

function holderOf(file: string): string | undefined {
  return unlessMissing(() => readFileSync(file, 'utf8'));
}
