import type { Counterpart } from '../gate/claims.ts';
import { Gate } from '../gate/gate.ts';
import type { World } from '../gate/world.ts';
import type { Claim } from '../model/claim.ts';
import { Fault } from '../model/fault.ts';
import type { Notice } from '../model/results.ts';
import type { Session, SignalOption } from '../model/session.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Resumed, ResumeOptions, Transcript } from '../model/transcript.ts';
import type { TurnMark } from '../model/turn.ts';
import type { Outcome } from '../model/verdict.ts';
import { Knowledge } from '../views/knowledge.ts';
import { Conversation } from './conversation.ts';
import { confirms } from './status.ts';

/** The relation of a new session to its parent: a sub-agent or, if `forked`, a copy. */
export type Kinship = Pick<SessionRecord, 'forked' | 'client'> & {
  readonly parent: string;
  /**
   * Set if an existing session with this id continues. Otherwise the session starts empty, and no
   * open session may have this id.
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
  protected readonly knowledge: Knowledge;
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
    this.knowledge = new Knowledge({ store, session: this.id, policy });
    this.gate = new Gate(host.world, this.knowledge);
    this.#conversation = new Conversation(host.world, this.knowledge);
  }

  beginTurn(mark: TurnMark, options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, ({ claims }) => {
      claims.prefetch();
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
    return this.#unlessAborted(options, () => this.#conversation.endTurn());
  }

  claims(options: SignalOption = {}): Promise<readonly Claim[]> {
    return this.#unlessAborted(options, (world) => world.claims.inFamily());
  }

  /** A notice about other sessions at work here, for the beginning of a turn. Undefined if there are none. */
  othersAtWork(): Promise<Notice | undefined> {
    return this.during(async ({ claims, store }) => {
      const found = await claims.atWork(this.knowledge);
      if (found === undefined) return undefined;
      await store.note({ views: [], entries: found.entries });
      return found.notice;
    });
  }

  /**
   * The file in the worktree of `folder` that corresponds to `absolute`, a file in another worktree
   * of the same repository. Undefined if there is none.
   */
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
   * Forgets what the session has seen since the beginning of the turn that contains this message,
   * because the client took the conversation back to that point. For clients whose message ids
   * ascend.
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
      await world.store.record(await this.knowledge.forkWrites(copy.id));
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
    return this.#unlessAborted(options, () => this.knowledge.exportJson());
  }

  /**
   * Imports the text that `exportSightings` returned. Leaves out files that have other bytes now.
   */
  importSightings(
    text: string,
    options: SignalOption = {},
  ): Promise<{ readonly kept: number; readonly dropped: number }> {
    return this.#unlessAborted(options, (world) =>
      this.knowledge.importJson(text, (sighting) => confirms(world, sighting)),
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
    return this.#unlessAborted(options, async () => {
      await this.knowledge.forget();
      await this.#conversation.endTurn();
    });
  }

  protected world(): World {
    if (this.#ended !== undefined)
      throw new Fault('MISUSE', `session ${this.id} is closed`, { reason: 'closed', unchanged: true });
    return this.host.world;
  }

  #unlessAborted<T>({ signal }: SignalOption, work: (world: World) => T | Promise<T>): Promise<T> {
    return this.during((world) => {
      signal?.throwIfAborted();
      return work(world);
    });
  }

  protected async during<T>(work: (world: World) => T | Promise<T>): Promise<T> {
    const world = this.beginWork();
    try {
      return await work(world);
    } finally {
      this.endWork();
    }
  }

  /** Call this at the beginning of each operation, and `endWork` at its end: `close` waits for it. */
  protected beginWork(): World {
    const world = this.world();
    this.#under += 1;
    return world;
  }

  protected endWork(): void {
    this.#under -= 1;
    if (this.#under === 0) this.#whenIdle?.();
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
