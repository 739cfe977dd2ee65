import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type Locks, slotsOf } from '../../lock/locks.ts';
import { Fault } from '../../model/fault.ts';
import { isWithin } from '../../model/path.ts';
import type { PostgresConnection } from './connection.ts';
import type { Names } from './names.ts';

const BEAT_MS = 5000;
/**
 * A process relies on its lease for this time after each renewal. The lease itself lasts 10 seconds
 * longer: time to finish a change in progress.
 */
const SAFE_MS = 20_000;

/** A lock number (`slot`) that a lease covers, and the number of the lease, which is never used twice. */
interface Fence {
  readonly slot: number;
  readonly fence: number;
}

/** A lease that this process holds. */
interface Lease {
  readonly keys: readonly string[];
  readonly fences: readonly Fence[];
  renewed: Moment;
  lost: boolean;
}

/**
 * A moment whose age is never underestimated. The machine's clock can be set back, and the
 * monotonic clock stops while the machine sleeps, so `ageMs` is the larger of their two results.
 */
export class Moment {
  readonly #wallMs = Date.now();
  readonly #steadyMs = performance.now();

  get ageMs(): number {
    return Math.max(Date.now() - this.#wallMs, performance.now() - this.#steadyMs);
  }
}

/**
 * Sends heartbeats and renews this process's leases while it has changes in progress. A process that only reads sends
 * none, because no other process waits for it.
 */
export class Heart {
  readonly #db: PostgresConnection;
  readonly #who: { readonly owner: string; readonly machine: string };
  readonly #announced = new Set<string>();
  readonly #leases = new Set<Lease>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: PostgresConnection, who: { readonly owner: string; readonly machine: string }) {
    this.#db = db;
    this.#who = who;
  }

  announced(change: string): void {
    this.#announced.add(change);
    this.#start();
  }

  settled(change: string): void {
    this.#announced.delete(change);
  }

  hold(lease: Lease): void {
    this.#leases.add(lease);
    this.#start();
  }

  drop(lease: Lease): void {
    this.#leases.delete(lease);
  }

  /** The fences (unique lease numbers) of all leases that cover one of these keys. */
  fencesOf(keys: readonly string[]): readonly Fence[] {
    const found: Fence[] = [];
    for (const lease of this.#leases)
      if (keys.some((key) => lease.keys.includes(key))) found.push(...lease.fences);
    return found;
  }

  /** The fences (unique lease numbers) of all leases that this process holds. */
  get held(): readonly number[] {
    return [...new Set([...this.#leases].flatMap(({ fences }) => fences.map(({ fence }) => fence)))];
  }

  /**
   * True while every lease of this process is valid: none was lost, and all were renewed in time.
   * Otherwise another process may hold one of them.
   */
  get holdsAll(): boolean {
    return [...this.#leases].every(({ lost, renewed }) => !lost && renewed.ageMs < SAFE_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.#beat(), BEAT_MS);
    this.#timer.unref();
  }

  async #beat(): Promise<void> {
    if (this.#announced.size === 0 && this.#leases.size === 0) return this.stop();
    const leases = [...this.#leases];
    const fences = leases.flatMap((lease) => lease.fences);
    const sent = new Moment();
    try {
      const renewed = await this.#db.call('lf_beat', { ...this.#who, fences });
      const isWhole = Number(renewed) === fences.length;
      for (const lease of leases) {
        if (isWhole) lease.renewed = sent;
        else if (this.#leases.has(lease)) lease.lost = true;
      }
    } catch {
      // Ignore the failure: the next beat retries, and `holdsAll` becomes false when a lease may
      // have expired.
    }
  }
}

const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 100;

interface LeaseOptions {
  /**
   * Locks between the processes of this machine. A process takes them before it contacts the
   * server, so that only one process per machine waits there.
   */
  readonly local: Locks;
  readonly db: PostgresConnection;
  readonly names: Names;
  readonly heart: Heart;
  /** Identifies this process. */
  readonly owner: string;
  /** The roots that several machines write to. */
  readonly sharedRoots: readonly string[];
}

/**
 * Locks for a workspace on a network file system: leases in the database, which expire if their holder dies. Each lease
 * has a fence, a number that is never used twice. Once the lease has passed to another holder, the server refuses the
 * former holder's records.
 */
export class LeasedLocks implements Locks {
  readonly #options: LeaseOptions;
  /** Identifies this object among the holders of leases. A process may have several. */
  readonly #holder: string;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#holder = `${options.owner}/${randomBytes(4).toString('hex')}`;
  }

  async acquire(keys: readonly string[], timeoutMs: number): Promise<(() => void) | undefined> {
    const deadline = performance.now() + timeoutMs;
    const { local, heart } = this.#options;
    const release = await local.acquire(keys, timeoutMs);
    if (release === undefined) return undefined;
    try {
      const shared = keys.filter((key) => this.#isShared(key));
      if (shared.length === 0) return release;
      const lease = await this.#lease(shared, deadline);
      if (lease === undefined) {
        release();
        return undefined;
      }
      heart.hold(lease);
      return () => {
        heart.drop(lease);
        this.#giveBack(lease);
        release();
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  mustHold(): void {
    if (this.#options.heart.holdsAll) return;
    throw new Fault(
      'STORE_FAILED',
      'the lease of a shared workspace could not be renewed in time: another machine may be writing there',
      { reason: 'lease' },
    );
  }

  close(): void {
    this.#options.local.close();
  }

  #isShared(key: string): boolean {
    return this.#options.sharedRoots.some((root) => isWithin(key, root));
  }

  async #lease(keys: readonly string[], deadline: number): Promise<Lease | undefined> {
    const { db, names, heart } = this.#options;
    const slots = slotsOf(keys.map((key) => names.stored(key))).map(([slot, sharing]) => ({ slot, sharing }));
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      const renewed = new Moment();
      const fence = await db.call('lf_lease', { holder: this.#holder, held: heart.held, slots });
      if (typeof fence === 'number') {
        const fences = slots.map(({ slot }) => ({ slot, fence }));
        return { keys, fences, renewed, lost: false };
      }
      if (performance.now() >= deadline) return undefined;
      await setTimeout(waitMs);
    }
  }

  /** Gives a lease back to the server without waiting. If that fails, the lease expires. */
  #giveBack({ fences }: Lease): void {
    this.#options.db.call('lf_release', { fences }).catch(() => undefined);
  }
}
