import type { PostgresConnection } from './connection.ts';

const BEAT_MS = 5000;
/** A lease lasts 30 seconds. The difference is left for the change in progress. */
const SAFE_MS = 20_000;

/** The number of a lease. No number is used twice. */
export interface Fence {
  readonly slot: number;
  readonly fence: number;
}

/** A lease that this process holds. */
export interface Lease {
  readonly keys: readonly string[];
  readonly fences: readonly Fence[];
  renewedMs: number;
  lost: boolean;
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

  /** The fences of all leases that cover one of these keys. */
  fencesOf(keys: readonly string[]): readonly Fence[] {
    const found: Fence[] = [];
    for (const lease of this.#leases)
      if (keys.some((key) => lease.keys.includes(key))) found.push(...lease.fences);
    return found;
  }

  /** False if another process may have received one of our leases. */
  get holdsAll(): boolean {
    const now = Date.now();
    return [...this.#leases].every(({ lost, renewedMs }) => !lost && now - renewedMs < SAFE_MS);
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
    const sentMs = Date.now();
    try {
      const [row] = await this.#db.query(`select ${this.#db.schema}.lf_beat($1::text::json) as renewed`, [
        JSON.stringify({ ...this.#who, fences }),
      ]);
      const isWhole = Number(row?.['renewed']) === fences.length;
      for (const lease of leases) {
        if (isWhole) lease.renewedMs = sentMs;
        else if (this.#leases.has(lease)) lease.lost = true;
      }
    } catch {
      // Not renewed. `holdsAll` reports when that becomes dangerous, and the next beat retries.
    }
  }
}
