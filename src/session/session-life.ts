import { randomBytes } from 'node:crypto';
import type { Counterpart } from '../gate/claims.ts';
import { Gate } from '../gate/gate.ts';
import type { World } from '../gate/world.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Awaitable } from '../model/awaitable.ts';
import type { Claim, ClaimMark, ClaimOptions } from '../model/claim.ts';
import type { NewEntry } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import type { Session, SignalOption } from '../model/session.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Resumed, ResumeOptions, Transcript } from '../model/transcript.ts';
import type { TurnMark } from '../model/turn.ts';
import { invalidArgument, type Outcome, refused } from '../model/verdict.ts';
import { Conversation } from './conversation.ts';
import { confirms } from './status.ts';

/** The relation of a new session to its parent: a sub-agent or, if `forked`, a copy. */
export type Kinship = Pick<SessionRecord, 'forked' | 'client'> & {
  readonly parent: string;
  /**
   * Set if an existing session with the id continues. Otherwise the session starts empty, and the
   * id must not be open.
   */
  readonly resumes?: true;
};

/** The fields that identify a session. */
interface Identity {
  readonly id: string;
  readonly named: boolean;
  readonly cwd?: string | undefined;
}

/** The functions that a session calls on the object that opened it. */
export interface SessionHost {
  readonly world: World;
  open(id: string | undefined, like: Kinship): Promise<Session & SessionLife>;
  closed(session: SessionLife, idle: Promise<void> | undefined): Promise<void>;
}

/** A session from opening to end: what it has seen, its forks and its running operations. */
export class SessionLife {
  readonly id: string;
  readonly named: boolean;
  /** The folder where relative paths start. Undefined: the first root. */
  readonly cwd: string | undefined;
  protected readonly host: SessionHost;
  protected readonly ledger: Ledger;
  protected readonly gate: Gate;
  readonly #conversation: Conversation;
  /** Number of running operations. Closing waits for them, because the workspace closes with its last session. */
  #under = 0;
  #whenIdle: (() => void) | undefined;
  /** The sessions of sub-agents. They close with this session. */
  readonly #subAgents = new Set<SessionLife>();
  #ended: Promise<void> | undefined;

  constructor(host: SessionHost, identity: Identity) {
    this.id = identity.id;
    this.named = identity.named;
    this.cwd = identity.cwd;
    this.host = host;
    const { store, policy } = host.world;
    this.ledger = new Ledger({ store, session: this.id, policy });
    this.gate = new Gate(host.world, this.ledger);
    this.#conversation = new Conversation(host.world, this.ledger);
  }

  beginTurn(mark: TurnMark, options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, ({ claims }) => {
      // Request the claims now, because the first read needs them: a store on another machine
      // fetches them in the background.
      claims.isQuiet(this.ledger);
      return this.#conversation.beginTurn(mark);
    });
  }

  /** Continues the last turn of this session, if another process began it. */
  continueTurn(): Promise<void> {
    return this.during(() => this.#conversation.continueTurn());
  }

  checkpoint(label: string, options: SignalOption = {}): Promise<{ readonly turn: string }> {
    return this.#unlessAborted(options, () => this.#conversation.checkpoint(label));
  }

  endTurn(options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, (world) => endTurn(world, this.ledger));
  }

  claim(
    target: string,
    options: ClaimOptions & SignalOption = {},
  ): Promise<Outcome<{ readonly claim: string; readonly others: readonly Claim[] }>> {
    return this.#unlessAborted(options, async (world) =>
      this.noted(await claim(world, this.ledger, { target, options })),
    );
  }

  release(target?: string, options: SignalOption = {}): Promise<Outcome<{ readonly released: number }>> {
    return this.#unlessAborted(options, async (world) =>
      this.noted(await release(world, this.ledger, target)),
    );
  }

  claims(options: SignalOption = {}): Promise<readonly Claim[]> {
    return this.#unlessAborted(options, (world) => world.claims.inFamily());
  }

  /** A notice about other sessions at work here, for the beginning of a turn. Undefined if there are none. */
  othersAtWork(): Promise<Notice | undefined> {
    return this.during((world) => othersAtWork(world, this.ledger));
  }

  /** Ends all sessions' claims on files in a folder that no longer exists. */
  releaseWithin(folder: string): Promise<void> {
    return this.during((world) => releaseWithin(world, folder));
  }

  /** The corresponding file in the worktree of `folder`, if the file is in another worktree of the same repository. */
  counterpart(absolute: string, folder: string): Promise<Counterpart | undefined> {
    return this.during((world) => world.claims.worktrees.counterpart(absolute, folder));
  }

  compacted(options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, () => this.#conversation.compacted());
  }

  resumed(options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, () => this.#conversation.resumed());
  }

  /**
   * Restores what the model of a conversation has seen, from its transcript alone. Only files that
   * still have the shown content may then be changed without a new read.
   */
  resumeFrom(transcript: Transcript, options: ResumeOptions = {}): Promise<Resumed> {
    const { signal } = options ?? {};
    return this.#unlessAborted({ signal }, () => this.#conversation.resumeFrom(transcript, options));
  }

  /**
   * Like `rewound`, to the beginning of the turn that contains the message. For clients whose
   * message ids ascend.
   */
  rewoundBefore(message: string): Promise<void> {
    return this.during(() => this.#conversation.rewoundBefore(message));
  }

  rewound(toMs: number, options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, () => this.#conversation.rewound(toMs));
  }

  /**
   * Follows the client's transcript of this conversation. If the client cuts a part off, sightings from that part no
   * longer count. Repeated calls are harmless.
   */
  followTranscript(path: string): Promise<void> {
    return this.during(() => this.#conversation.follow(path));
  }

  fork(id?: string, options: SignalOption = {}): Promise<Session> {
    return this.#unlessAborted(options, async (world) => {
      const copy = await this.host.open(id, { parent: this.id, forked: true });
      await world.store.record(await this.ledger.forkWrites(copy.id));
      return copy;
    });
  }

  child(id?: string, options: SignalOption = {}): Promise<Session> {
    return this.#unlessAborted(options, async () => {
      const child = await this.host.open(id, { parent: this.id });
      // The sub-agent works within its parent's turn, so that a rewind of that turn includes it.
      child.#conversation.continueTurnOf(this.#conversation);
      return child;
    });
  }

  /** The session of a sub-agent, opened or resumed. It closes with this session. */
  subAgent(id: string): Promise<Session> {
    return this.during(async () => {
      const agent = await this.host.open(id, { parent: this.id, resumes: true });
      if (!this.#subAgents.has(agent)) agent.#conversation.continueTurnOf(this.#conversation);
      this.#subAgents.add(agent);
      return agent;
    });
  }

  /** Exports what this session has seen, for `importSightings` in another process. */
  exportSightings(options: SignalOption = {}): Promise<string> {
    return this.#unlessAborted(options, () => this.ledger.exportJson());
  }

  /**
   * Imports the text that `exportSightings` returned. Leaves out files that have other bytes now.
   */
  importSightings(
    text: string,
    options: SignalOption = {},
  ): Promise<{ readonly kept: number; readonly dropped: number }> {
    return this.#unlessAborted(options, (world) =>
      this.ledger.importJson(text, (sighting) => confirms(world, sighting)),
    );
  }

  /** Ends the session after its running operations. Other methods then throw a Fault. */
  close(): Promise<void> {
    this.#ended ??= this.host.closed(this, this.#settled());
    return this.#ended;
  }

  /**
   * Waits until no operation is running. Then ends the announced changes that still hold locks,
   * with the result `unknown`, and closes the sub-agents. Undefined if there is nothing to do.
   */
  #settled(): Promise<void> | undefined {
    const idle = this.#idle();
    const { announcements } = this.gate;
    if (idle === undefined && !announcements.isOpen && this.#subAgents.size === 0) return undefined;
    return Promise.resolve(idle).then(async () => {
      await announcements.close();
      for (const agent of this.#subAgents) await agent.close();
    });
  }

  #idle(): Promise<void> | undefined {
    if (this.#under === 0) return undefined;
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  /** Forgets everything this session has seen, and ends its claims. */
  forget(options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, async (world) => {
      await this.ledger.forget();
      await release(world, this.ledger);
    });
  }

  protected world(): World {
    if (this.#ended !== undefined)
      throw new Fault('MISUSE', `session ${this.id} is closed`, { reason: 'closed', unchanged: true });
    return this.host.world;
  }

  #unlessAborted<T>({ signal }: SignalOption, work: (world: World) => Awaitable<T>): Promise<T> {
    return this.during((world) => {
      signal?.throwIfAborted();
      return work(world);
    });
  }

  protected async during<T>(work: (world: World) => Awaitable<T>): Promise<T> {
    const world = this.world();
    this.#under += 1;
    try {
      return await work(world);
    } finally {
      this.#under -= 1;
      if (this.#under === 0) this.#whenIdle?.();
    }
  }

  /**
   * Counts and journals the refusal of an operation that does not go through the gate. The gate does so for all other
   * operations.
   */
  protected async noted<T>(outcome: Outcome<T>): Promise<Outcome<T>> {
    if (outcome.ok) return outcome;
    return { ok: false, ...(await this.gate.refusals.record(outcome)) };
  }
}

const DEFAULT_MS = 60 * 60_000;
const MAX_MS = 24 * 60 * 60_000;
const MAX_REASON_CHARS = 200;
const MAX_GLOB_CHARS = 500;

/**
 * The subject of a claim or release: one path, with its contents if it is a folder, or a glob inside the first root.
 */
type Target = Pick<NewEntry, 'root' | 'path' | 'key'> & Pick<ClaimMark, 'glob'>;

/**
 * Claims a path or a glob for a session: other sessions that work there get notices. Returns the
 * other sessions' claims on the same files.
 */
async function claim(
  world: World,
  ledger: Ledger,
  { target, options }: { readonly target: string; readonly options: ClaimOptions },
): Promise<Outcome<{ readonly claim: string; readonly others: readonly Claim[] }>> {
  const { forMs = DEFAULT_MS, reason } = options;
  const found = targetOf(world, target);
  if (!found.ok) return found;
  if (!Number.isInteger(forMs) || forMs < 1 || forMs > MAX_MS)
    return refused(invalidArgument('call', target, `a claim lasts from 1 ms to 24 hours, not ${forMs}`));
  const id = `k${randomBytes(4).toString('hex')}`;
  const { glob, ...place } = found.target;
  const untilMs = world.now() + forMs;
  const mark: ClaimMark = {
    id,
    untilMs,
    ...(glob === undefined ? {} : { glob }),
    ...(reason === undefined ? {} : { reason: reason.slice(0, MAX_REASON_CHARS) }),
  };
  const others = await othersOn(world, ledger, found.target);
  const entry: NewEntry = { kind: 'claim', atMs: world.now(), ...ledger.author, ...place, claim: mark };
  await world.store.record({ entries: [entry] });
  return { ok: true, claim: id, others };
}

/**
 * Ends the session's claims on exactly this path or glob, or all its claims if there is no target.
 */
async function release(
  world: World,
  ledger: Ledger,
  target?: string,
): Promise<Outcome<{ readonly released: number }>> {
  const { session } = ledger;
  const own = world.claims.board.all().filter((each) => each.session === session);
  if (target === undefined) {
    if (own.length > 0) await world.store.record(releaseWrites(world, session));
    return { ok: true, released: own.length };
  }
  const found = targetOf(world, target);
  if (!found.ok) return found;
  const { glob, ...place } = found.target;
  const ended = own.filter((each) => (glob === undefined ? each.key === place.key : each.glob === glob));
  if (ended.length === 0) return { ok: true, released: 0 };
  const mark: ClaimMark = { released: true, ...(glob === undefined ? {} : { glob }) };
  const entry: NewEntry = { kind: 'claim', atMs: world.now(), ...ledger.author, ...place, claim: mark };
  await world.store.record({ entries: [entry] });
  return { ok: true, released: ended.length };
}

/**
 * Ends the claims that a session got on files by changing them, at the end of its turn. Explicit
 * claims stay.
 */
async function endTurn(world: World, { session }: Ledger): Promise<void> {
  const own = world.claims.board.all().filter((each) => each.session === session && each.by === 'change');
  if (own.length === 0) return;
  const [entry] = releaseWrites(world, session).entries ?? [];
  if (entry === undefined) return;
  await world.store.record({ entries: [{ ...entry, claim: { released: true, turnEnded: true } }] });
}

/** Ends all sessions' claims on files in a folder that no longer exists, for example a removed worktree. */
async function releaseWithin(world: World, folder: string): Promise<void> {
  if (folder === '') return;
  const inside = world.claims.board.all().filter(({ key }) => isWithin(key ?? '', folder));
  const entries = inside.map(({ session, root, path, key }): NewEntry => {
    const file = key === undefined ? { path } : { path, key };
    return { kind: 'claim', atMs: world.now(), session, root, ...file, claim: { released: true } };
  });
  if (entries.length > 0) await world.store.record({ entries });
}

/** One notice about other sessions at work, for the beginning of a turn. Undefined if there are none. */
async function othersAtWork(world: World, ledger: Ledger): Promise<Notice | undefined> {
  const found = await world.claims.atWork(ledger);
  if (found === undefined) return undefined;
  await world.store.note({ sightings: [], entries: found.entries });
  return found.notice;
}

/** The writes to the store that end all claims of a session. Empty if it has none. */
function releaseWrites(world: World, session: string): { readonly entries?: readonly NewEntry[] } {
  if (!world.claims.board.all().some((each) => each.session === session)) return {};
  const root = world.workspace.roots[0] ?? '';
  return { entries: [{ kind: 'claim', atMs: world.now(), session, root, claim: { released: true } }] };
}

function targetOf(world: World, target: string): Outcome<{ readonly target: Target }> {
  if (target === '') return refused(invalidArgument('claim', target, 'name a path or a glob'));
  if (/[*?[\]{}]/.test(target)) {
    if (target.length > MAX_GLOB_CHARS)
      return refused(invalidArgument('claim', target.slice(0, 80), 'the glob is too long'));
    return { ok: true, target: { root: world.workspace.roots[0] ?? '', glob: target } };
  }
  const resolved = world.workspace.resolve(target, 'claim');
  if (!resolved.ok) return resolved;
  const { root, relative, key } = resolved.path;
  return { ok: true, target: { root, path: relative, key } };
}

/** Other sessions' claims on the same path, on a path inside or above it, or on the same glob. */
async function othersOn(world: World, { session }: Ledger, { key, glob }: Target): Promise<readonly Claim[]> {
  const isNear = (other: string): boolean =>
    key !== undefined && (isWithin(other, key) || isWithin(key, other));
  return (await world.claims.inFamily())
    .filter((each) => each.session !== session)
    .filter((each) => (each.key === undefined ? each.glob === glob : isNear(each.key)));
}
