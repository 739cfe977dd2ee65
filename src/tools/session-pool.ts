import type { Awaitable } from '../model/awaitable.ts';
import type { GatedSession } from '../session/gated-session.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Chosen } from './session-choice.ts';

/**
 * Open sessions at the same time. Beyond it, the named sessions idle the longest are closed; they
 * reopen on their next use.
 */
const MAX_OPEN = 256;

/** A choice whose session is kept between calls. */
type Kept = Exclude<Chosen, { kind: 'call' }>;

interface Pooled {
  /** A promise at first, replaced by the session itself when it is open. */
  session: Awaitable<GatedSession>;
  calls: number;
  ended: boolean;
}

/** The open sessions of one server. Opens each on first use, and never closes one during a call. */
export class SessionPool {
  readonly #sessions: Sessions;
  readonly #maxOpen: number;
  /** The open sessions, ordered by last use. */
  readonly #pooled = new Map<string, Pooled>();

  constructor(sessions: Sessions, maxOpen: number = MAX_OPEN) {
    this.#sessions = sessions;
    this.#maxOpen = maxOpen;
  }

  /**
   * Runs a call in its session. `client`: the name of the calling program, recorded if the session
   * is opened.
   */
  use<T>(
    choice: Chosen,
    work: (session: GatedSession) => Awaitable<T>,
    client?: string | undefined,
  ): Awaitable<T> {
    if (choice.kind === 'call') return this.#once(work);
    const pooled = this.#take(keyOf(choice), choice, client);
    // A synchronous call needs no protection: nothing else runs before it is over.
    if (!(pooled.session instanceof Promise)) {
      const done = work(pooled.session);
      return done instanceof Promise ? during(pooled, done) : done;
    }
    return during(pooled, pooled.session.then(work));
  }

  /**
   * Applies an event (a compaction, a new turn) to a session before all later calls. Does nothing
   * for a session that lasts for one call.
   */
  async before(choice: Chosen, event: (session: GatedSession) => Promise<unknown>): Promise<void> {
    if (choice.kind === 'call') return;
    const pooled = this.#take(keyOf(choice), choice);
    const session = Promise.resolve(pooled.session).then(async (open) => {
      await event(open);
      return open;
    });
    this.#settle(pooled, session);
    try {
      await during(pooled, session);
    } catch (error) {
      // Later calls reopen the session instead of failing permanently.
      this.#pooled.delete(keyOf(choice));
      throw error;
    }
  }

  /** Ends a transport's session: its sightings are dropped as soon as no call uses it. */
  async end(hint: string): Promise<void> {
    await this.#drop(keyOf({ kind: 'transport', hint }));
  }

  #take(key: string, choice: Kept, client?: string | undefined): Pooled {
    const known = this.#pooled.get(key);
    const pooled = known ?? this.#opened(key, choice, client);
    this.#pooled.delete(key);
    this.#pooled.set(key, pooled);
    return pooled;
  }

  #opened(key: string, choice: Kept, client: string | undefined): Pooled {
    const session = this.#open(key, choice, client);
    const pooled: Pooled = { session, calls: 0, ended: false };
    this.#settle(pooled, session);
    return pooled;
  }

  /** Makes calls wait for a session. When it is open, later calls get it synchronously. */
  #settle(pooled: Pooled, session: Promise<GatedSession>): void {
    pooled.session = session;
    session.then(
      (open) => {
        if (pooled.session === session) pooled.session = open;
      },
      () => {},
    );
  }

  async #once<T>(work: (session: GatedSession) => Awaitable<T>): Promise<T> {
    const session = await this.#sessions.session();
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }

  async #open(key: string, choice: Kept, client: string | undefined): Promise<GatedSession> {
    try {
      await this.#makeRoom();
      return await this.#sessions.session(choice.kind === 'named' ? choice.id : undefined, client);
    } catch (error) {
      this.#pooled.delete(key);
      throw error;
    }
  }

  async #makeRoom(): Promise<void> {
    for (const [key, pooled] of this.#pooled) {
      if (this.#pooled.size < this.#maxOpen) return;
      // Close only named sessions: others cannot be reopened, and their clients may still be connected.
      if (pooled.calls === 0 && key.startsWith('named:')) await this.#drop(key);
    }
  }

  async #drop(key: string): Promise<void> {
    const pooled = this.#pooled.get(key);
    if (pooled === undefined) return;
    this.#pooled.delete(key);
    pooled.ended = true;
    if (pooled.calls === 0) await closeOf(pooled);
  }
}

function keyOf(choice: Kept): string {
  switch (choice.kind) {
    case 'named':
      return `named:${choice.id}`;
    case 'transport':
      return `transport:${choice.hint}`;
    case 'process':
      return 'process';
    default:
      return choice satisfies never;
  }
}

async function during<T>(pooled: Pooled, call: Promise<T>): Promise<T> {
  pooled.calls += 1;
  try {
    return await call;
  } finally {
    pooled.calls -= 1;
    if (pooled.calls === 0 && pooled.ended) await closeOf(pooled);
  }
}

async function closeOf(pooled: Pooled): Promise<void> {
  await (await pooled.session).close();
}
