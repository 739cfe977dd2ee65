import type { Claim } from '../model/claim.ts';
import { COMMAND_LINE, type Effect, type NewEntry, type Side } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { defined } from '../model/record.ts';
import { plainKey } from '../store/entry-columns.ts';
import type { Store } from '../store/store.ts';

interface ClaimBoardOptions {
  readonly store: Pick<Store, 'recent'>;
  /** Lifetime of a claim in milliseconds. An explicit claim may have an end of its own instead. */
  readonly claimMs: number;
  now(): number;
}

/**
 * Tracks which session works on which file, by reading the journal. A session that changes a file
 * claims it. The claim ends with the session's next turn, by a release, or after `claimMs`. All
 * methods are synchronous.
 */
export class ClaimBoard {
  readonly #options: ClaimBoardOptions;
  #cursor = 0;
  /** Claims on files that a session has changed, by file key, then by session. */
  readonly #changed = new Map<string, Map<string, Claim>>();
  readonly #byHand = new Map<string, Claim>();
  /** Sessions for which this board has read a claim in the journal, except those passed to `drop`. */
  readonly #claimants = new Set<string>();
  /**
   * The times at which sessions were last notified of claims, by session, then by file and turn
   * (`key NUL turn`).
   */
  readonly #told = new Map<string, Map<string, number>>();

  constructor(options: ClaimBoardOptions) {
    this.#options = options;
  }

  /** The claims of other sessions that have changed this file, newest first. */
  changedByOthers(session: string, key: string): readonly Claim[] {
    this.#refresh();
    const claims = this.#changed.get(key);
    if (claims === undefined) return [];
    return this.#inForce([...claims.values()].filter((claim) => claim.session !== session));
  }

  /** Explicit claims of other sessions, on a path or a glob. The caller checks which files they cover. */
  heldByOthers(session: string): readonly Claim[] {
    this.#refresh();
    if (this.#byHand.size === 0) return [];
    return this.#inForce([...this.#byHand.values()].filter((claim) => claim.session !== session));
  }

  /**
   * A quick check that examines no claims. False if this board has read no claim of another session
   * in the journal, which is the usual case. True even if those claims have ended.
   */
  hasOthers(session: string): boolean {
    this.#refresh();
    return this.#claimants.size > (this.#claimants.has(session) ? 1 : 0);
  }

  /** The claim that a session holds on a file because it changed that file. */
  own(session: string, key: string): Claim | undefined {
    const claim = this.#changed.get(key)?.get(session);
    return claim === undefined ? undefined : this.#inForce([claim])[0];
  }

  /** All current claims, newest first. */
  all(): readonly Claim[] {
    this.#refresh();
    const changed = [...this.#changed.values()].flatMap((claims) => [...claims.values()]);
    return this.#inForce([...changed, ...this.#byHand.values()]);
  }

  /** Drops all claims of a closed session. */
  drop(session: string): void {
    for (const claims of this.#changed.values()) claims.delete(session);
    for (const [id, claim] of this.#byHand) if (claim.session === session) this.#byHand.delete(id);
    this.#claimants.delete(session);
  }

  isTold(session: string, key: string, turn: string | undefined): boolean {
    const atMs = this.#told.get(session)?.get(toldName(key, turn));
    // A session that has no turns is notified again after `claimMs`.
    return atMs !== undefined && (turn !== undefined || atMs + this.#options.claimMs > this.#options.now());
  }

  /** Records that the session was notified of claims on a file, so that it is notified once per turn. */
  tell(session: string, key: string, turn: string | undefined): void {
    const told = this.#told.get(session) ?? new Map();
    this.#told.set(session, told.set(toldName(key, turn), this.#options.now()));
  }

  #inForce(claims: readonly Claim[]): readonly Claim[] {
    const now = this.#options.now();
    return claims.filter(({ untilMs }) => untilMs > now).sort((a, b) => b.atMs - a.atMs);
  }

  #refresh(): void {
    try {
      const { store, claimMs, now } = this.#options;
      // Changes older than `claimMs` are not needed, because their claims have ended.
      const { entries, cursor } = store.recent(this.#cursor, now() - claimMs);
      this.#cursor = cursor;
      for (const entry of entries) this.#take(entry);
      if (entries.length > 0) this.#dropEnded();
    } catch (error) {
      // If the store fails, continue with the claims known so far: claims are only advice. If the
      // session wants to change a file, that change is refused later: the store cannot record it.
      if (!(error instanceof Fault) || error.code !== 'STORE_FAILED') throw error;
    }
  }

  #take(entry: NewEntry): void {
    switch (entry.kind) {
      case 'change':
        // An undo does not show that the session works on the file, so it makes no claim.
        if (entry.undoes !== undefined || entry.undoesPart !== undefined) break;
        for (const effect of entry.effects ?? []) this.#changes(entry, effect);
        break;
      case 'turn':
        this.#endTurnsBefore(entry);
        break;
      case 'claim':
        if (entry.claim?.released === true) this.#release(entry);
        else this.#hold(entry);
        break;
      case 'notice':
        if (entry.claim !== undefined && entry.key !== undefined)
          this.tell(entry.session, entry.key, entry.turn);
        break;
      default:
        break;
    }
  }

  #changes(entry: NewEntry, { key, before, after, relative }: Effect): void {
    const { session, turn, root, atMs } = entry;
    if (session === COMMAND_LINE || [before.kind, after.kind].includes('directory')) return;
    const claims = this.#changed.get(key) ?? new Map<string, Claim>();
    this.#changed.set(key, claims);
    const known = claims.get(session);
    this.#claimants.add(session);
    const first = known === undefined ? fingerprintIn(before) : known.before;
    claims.set(session, {
      session,
      key,
      root,
      path: relative,
      by: 'change',
      sinceMs: known?.sinceMs ?? atMs,
      atMs,
      untilMs: atMs + this.#options.claimMs,
      ...defined({ turn, before: first, after: fingerprintIn(after) }),
    });
  }

  /**
   * Ends the claims that a session and its sub-agents got by changes in earlier turns. Sub-agents
   * work within the turn of their parent.
   */
  #endTurnsBefore({ session, turn }: NewEntry): void {
    this.#told.delete(session);
    for (const claims of this.#changed.values())
      for (const [by, claim] of claims)
        if ((by === session || by.startsWith(`${session}/`)) && claim.turn !== turn) claims.delete(by);
  }

  #hold(entry: NewEntry): void {
    const { session, turn, root, atMs, claim = {}, path = '' } = entry;
    const { id, glob, reason, untilMs } = claim;
    const key = glob === undefined ? (entry.key ?? plainKey(entry)) : undefined;
    if (id === undefined) return;
    this.#claimants.add(session);
    this.#byHand.set(id, {
      id,
      session,
      ...defined({ turn, key, glob, reason }),
      root,
      path: glob ?? path,
      by: 'hand',
      sinceMs: atMs,
      atMs,
      untilMs: untilMs ?? atMs + this.#options.claimMs,
    });
  }

  /**
   * Without a path or glob, releases all claims of the session. Otherwise releases only claims on
   * exactly this path or glob. At the end of a turn (`turnEnded`), explicit claims stay.
   */
  #release(entry: NewEntry): void {
    const { session, claim = {} } = entry;
    const all = claim.glob === undefined && entry.path === undefined;
    const key = all ? undefined : (entry.key ?? plainKey(entry));
    for (const [id, held] of this.#byHand)
      if (
        held.session === session &&
        claim.turnEnded !== true &&
        (all || (claim.glob ?? key) === (held.glob ?? held.key))
      )
        this.#byHand.delete(id);
    for (const [changed, claims] of this.#changed) if (all || changed === key) claims.delete(session);
  }

  #dropEnded(): void {
    const now = this.#options.now();
    for (const [key, claims] of this.#changed) {
      for (const [by, { untilMs }] of claims) if (untilMs <= now) claims.delete(by);
      if (claims.size === 0) this.#changed.delete(key);
    }
    for (const [id, { untilMs }] of this.#byHand) if (untilMs <= now) this.#byHand.delete(id);
  }
}

function fingerprintIn(side: Side): Fingerprint | undefined {
  return side.kind === 'file' ? side.fingerprint : undefined;
}

function toldName(key: string, turn: string | undefined): string {
  return `${key}\0${turn ?? ''}`;
}
