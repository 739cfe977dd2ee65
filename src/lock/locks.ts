import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedMutex, type LockMode } from '../model/keyed-mutex.ts';
import { openProcessLock, type ProcessLock } from './process-lock.ts';

interface LockOptions {
  /** Our state folder; processes with the same folder exclude each other. */
  readonly home: string;
  readonly owner: string;
  isAlive(owner: string): boolean;
  /** `owner` disables kernel locks, for tests of the weaker kind. */
  readonly use?: 'owner';
}

const FIRST_WAIT_MS = 1;

const LONGEST_WAIT_MS = 25;

const MAX_KNOWN = 10_000;

/**
 * One writer per file. A change to a file also takes shared locks on the folders above it. A move
 * or removal of a folder locks it exclusively, so that nothing in it changes meanwhile.
 */
export interface Locks {
  /** Waits at most `timeoutMs` for all keys; undefined on timeout. Keys are canonical paths. */
  acquire(keys: readonly string[], timeoutMs: number): Promise<(() => void) | undefined>;
  /** Throws a Fault if another machine may hold the acquired keys by now. Absent if that cannot happen. */
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
  /** The number of shared holders per slot in this process; the process locks the slot once for all of them. */
  readonly #shared = new Map<number, number>();
  /** The slots of single keys: most changes concern one file, and the same file again. */
  readonly #known = new Map<string, Slots>();

  constructor(options: LockOptions) {
    mkdirSync(options.home, { recursive: true, mode: 0o700 });
    this.#processes = openProcessLock({
      file: join(options.home, 'locks'),
      folder: join(options.home, 'lock-files'),
      owner: options.owner,
      isAlive: options.isAlive,
      use: options.use,
    });
  }

  async acquire(keys: readonly string[], timeoutMs: number): Promise<(() => void) | undefined> {
    const held: (() => void)[] = [];
    const release = (): void => {
      for (const free of held.toReversed()) free();
    };
    try {
      // Not the machine's clock: it can be set back while this waits.
      const deadline = performance.now() + timeoutMs;
      for (const [slot, sharing] of this.#slotsOf(keys)) {
        const leave =
          this.#mutex.tryAcquire(slot, sharing) ??
          (await this.#mutex.acquire(slot, sharing, deadline - performance.now()));
        if (leave !== undefined) held.push(leave);
        // Try without waiting first: the lock is nearly always free.
        const entered =
          leave !== undefined &&
          (this.#tryAcquire(slot, sharing) || (await this.#waitFor(slot, sharing, deadline)));
        if (!entered) {
          release();
          return undefined;
        }
        held.push(() => this.#release(slot, sharing));
      }
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  close(): void {
    this.#processes.close();
  }

  #slotsOf(keys: readonly string[]): Slots {
    const [only] = keys;
    if (only === undefined || keys.length > 1) return slotsOf(keys);
    let slots = this.#known.get(only);
    if (slots === undefined) {
      slots = slotsOf(keys);
      if (this.#known.size >= MAX_KNOWN) this.#known.clear();
      this.#known.set(only, slots);
    }
    return slots;
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

type Slots = readonly (readonly [number, LockMode])[];

/** The slots of the keys and of the folders above them, in the order in which all processes acquire them. */
export function slotsOf(keys: readonly string[]): Slots {
  const wanted = new Map<number, LockMode>();
  for (const key of keys)
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1))
      wanted.set(slotOf(key.slice(0, end)), 'together');
  for (const key of keys) wanted.set(slotOf(key), 'alone');
  return [...wanted].sort(([a], [b]) => a - b);
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
