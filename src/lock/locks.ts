import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedMutex, type LockMode } from '../model/waiting.ts';
import { openOwnerLock, openProcessLock, type ProcessLock } from './process-lock.ts';

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
