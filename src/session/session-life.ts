import { randomBytes } from 'node:crypto';
import type { Counterpart } from '../gate/claims.ts';
import { Gate } from '../gate/gate.ts';
import type { World } from '../gate/world.ts';
import { endOfKeptPart, keptPart, newestCut } from '../history/client-rewind.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Awaitable } from '../model/awaitable.ts';
import type { Claim, ClaimOptions } from '../model/claim.ts';
import { SESSION_CONTINUED } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { Notice } from '../model/results.ts';
import type { Session, SignalOption } from '../model/session.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Resumed, ResumeOptions, Transcript } from '../model/transcript.ts';
import { checkedTurn, type TurnMark } from '../model/turn.ts';
import type { Outcome } from '../model/verdict.ts';
import { gitPosition } from '../process/git-position.ts';
import { walkEntries } from '../store/store.ts';
import { transcriptsBeside, transcriptTail } from '../store/transcript-file.ts';
import { withoutSecrets } from '../text/secrets.ts';
import { claim, endTurn, othersAtWork, release, releaseWithin } from './claim.ts';
import { confirms } from './status.ts';

/** The relation of a new session to its parent: a sub-agent or, if `forked`, a copy. */
export type Kinship = Pick<SessionRecord, 'forked' | 'client'> & { readonly parent: string };

/** The fields that identify a session. */
interface Identity {
  readonly id: string;
  readonly named: boolean;
  readonly cwd?: string | undefined;
}

/** The interface between a session and the object that opened it. */
export interface SessionHost {
  readonly world: World;
  open(id: string | undefined, like: Kinship): Promise<Session & SessionLife>;
  closed(session: SessionLife, idle: Promise<void> | undefined): Promise<void>;
}

/** Size of the transcript's end that is read. It holds the last two prompts, unless a turn was very long. */
const MAX_TAIL_BYTES = 4 << 20;
/** The first record of a transcript holds the instructions of its client. */
const MAX_HEAD_BYTES = 1 << 20;

/** Number of a session's earlier turns that are searched for an id. */
const MAX_SEARCHED = 1000;
/** Number of entries about processes that may join a session between two reports of one event. */
const MAX_JOINING = 20;

/** A session from opening to end: its sightings, its forks and its running operations. */
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
      // A fleet store fetches the claims of other processes in the background. Started now, the first read knows them.
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

  /** Ends all claims in a folder of the workspace that is gone. */
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
   * Restores what the model of a conversation has seen, from its transcript alone. Only sightings that the disk
   * confirms permit changes.
   */
  resumeFrom(transcript: Transcript, options: ResumeOptions = {}): Promise<Resumed> {
    const { signal } = options ?? {};
    return this.#unlessAborted({ signal }, () => this.#conversation.resumeFrom(transcript, options));
  }

  /** Like `rewound`, to the beginning of the turn that has the message. For clients whose ids ascend. */
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

  /** Exports all sightings of this session, for `importSightings` in another process. */
  exportSightings(options: SignalOption = {}): Promise<string> {
    return this.#unlessAborted(options, () => this.ledger.exportJson());
  }

  /** Imports exported sightings that the disk confirms, and drops the others. */
  importSightings(
    text: string,
    options: SignalOption = {},
  ): Promise<{ readonly kept: number; readonly dropped: number }> {
    return this.#unlessAborted(options, (world) =>
      this.ledger.importJson(text, (sighting) => confirms(world, sighting)),
    );
  }

  /** Waits for running operations. Later calls throw a Fault. */
  close(): Promise<void> {
    this.#ended ??= this.host.closed(this, this.#settled());
    return this.#ended;
  }

  /** Waits until no operation is running and no announced change holds locks. */
  #settled(): Promise<void> | undefined {
    const idle = this.#idle();
    const { announcements } = this.gate;
    if (!announcements.isOpen) return idle;
    return Promise.resolve(idle).then(() => announcements.close());
  }

  #idle(): Promise<void> | undefined {
    if (this.#under === 0) return undefined;
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  /** Forgets everything this session has seen. */
  forget(options: SignalOption = {}): Promise<void> {
    return this.#unlessAborted(options, async (world) => {
      await this.ledger.forget();
      await world.store.record({ dropSession: this.id });
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

  /** Counts and journals refusals of operations that do not go through the gate, like all others. */
  protected async noted<T>(outcome: Outcome<T>): Promise<Outcome<T>> {
    if (outcome.ok) return outcome;
    return { ok: false, ...(await this.gate.refusals.record(outcome)) };
  }
}

/** The events of a session's conversation: turns, compaction, resuming, rewinding. Each writes a journal entry. */
class Conversation {
  readonly #world: World;
  readonly #ledger: Ledger;
  /** The last turn begun. Its entry is recorded before any entry within it. */
  #begun: { readonly turn: string; readonly recorded: Promise<void> } | undefined;

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /** Begins a turn. If the session used the id before, in any process, that turn continues. */
  async beginTurn(mark: TurnMark): Promise<void> {
    const checked = checkedTurn(withoutTokens(mark));
    if (this.#begun?.turn !== checked.turn)
      this.#begun = { turn: checked.turn, recorded: this.#recordTurn(checked) };
    const { turn, recorded } = this.#begun;
    try {
      await recorded;
    } catch (error) {
      if (this.#begun?.turn === turn) this.#begun = undefined;
      throw error;
    }
  }

  async continueTurn(): Promise<void> {
    if (this.#ledger.turn !== undefined) return;
    const { session } = this.#ledger;
    const [last] = await this.#world.store.entries({ session, kinds: ['turn'], limit: 1 });
    this.#ledger.turn = last?.turn;
  }

  async checkpoint(label: string): Promise<{ readonly turn: string }> {
    if (typeof label !== 'string') throw new Fault('MISUSE', 'the label of a checkpoint must be a text');
    const turn = `t${randomBytes(5).toString('hex')}`;
    await this.beginTurn({ turn, label });
    return { turn };
  }

  /** Joins the present turn of the parent conversation, for a sub-agent. */
  continueTurnOf(parent: Conversation): void {
    this.#ledger.turn = parent.#ledger.turn;
  }

  async compacted(): Promise<void> {
    await this.#ledger.compacted();
    await this.#note('compacted');
  }

  async resumed(): Promise<void> {
    await this.#ledger.verify((sighting) => confirms(this.#world, sighting));
    await this.#note('resumed');
  }

  async resumeFrom(transcript: Transcript, options: ResumeOptions): Promise<Resumed> {
    // Loaded on demand: servers start without it.
    const { resumeFrom } = await import('./resume-from.ts');
    const resumed = await resumeFrom(this.#world, this.#ledger, { transcript, options });
    await this.#note('resumed from a transcript');
    return resumed;
  }

  async rewound(toMs: number): Promise<void> {
    if (!Number.isFinite(toMs)) throw new Fault('MISUSE', 'a moment to rewind to must be a number');
    await this.#ledger.rewound(toMs);
    await this.#note('rewound');
  }

  async rewoundBefore(message: string): Promise<void> {
    const filter = { session: this.#ledger.session, kinds: ['turn'], limit: MAX_SEARCHED } as const;
    for await (const { turn = '', atMs } of walkEntries(this.#world.store, filter))
      if (turn <= message) return this.rewound(atMs - 1);
    return this.rewound(0);
  }

  async follow(path: string): Promise<void> {
    const cut = newestCut(transcriptTail(path, MAX_TAIL_BYTES)) ?? cutBetweenFiles(path);
    if (cut === undefined) return;
    const dropped = await this.#ledger.rewound(cut.afterMs, cut.untilMs);
    if (dropped > 0) await this.#note('rewound');
  }

  async #recordTurn(mark: TurnMark): Promise<void> {
    const { store, workspace } = this.#world;
    const { session } = this.#ledger;
    if (!(await this.#isKnown(mark.turn))) {
      const root = workspace.roots[0] ?? '';
      const git = gitPosition(root);
      const where = git === undefined ? {} : { git };
      const entry = { kind: 'turn', atMs: this.#world.now(), session, root, ...mark, ...where } as const;
      await store.record({ entries: [entry] });
    }
    this.#ledger.turn = mark.turn;
  }

  async #isKnown(turn: string): Promise<boolean> {
    const filter = { session: this.#ledger.session, kinds: ['turn'], limit: MAX_SEARCHED } as const;
    for await (const entry of walkEntries(this.#world.store, filter)) if (entry.turn === turn) return true;
    return false;
  }

  /** Records an event of the conversation once, even if a client reports it by two events in a row. */
  async #note(text: string): Promise<void> {
    const { store, workspace } = this.#world;
    const { session, author } = this.#ledger;
    const newest = await store.entries({ session, limit: MAX_JOINING });
    const last = newest.find((entry) => entry.kind !== 'session' || entry.text !== SESSION_CONTINUED);
    if (last?.kind === 'session' && last.text === text) return;
    const root = workspace.roots[0] ?? '';
    const entry = { kind: 'session', atMs: this.#world.now(), ...author, root, text } as const;
    await store.record({ entries: [entry] });
  }
}

/** The cut before the first record of this file, if its client continues a rewound conversation in a new file. */
function cutBetweenFiles(path: string): { readonly afterMs: number; readonly untilMs: number } | undefined {
  const kept = keptPart(transcriptTail(path, MAX_HEAD_BYTES, MAX_HEAD_BYTES));
  if (kept === undefined) return undefined;
  const ends = transcriptsBeside(path, kept.thread).flatMap(
    (other) => endOfKeptPart(kept, transcriptTail(other, MAX_TAIL_BYTES, kept.endByte)) ?? [],
  );
  // Without the former file, nothing is known to be in the kept part.
  return { afterMs: Math.min(...(ends.length === 0 ? [0] : ends)), untilMs: kept.untilMs };
}

/** Masks tokens before texts are cut: the journal must not hold even the beginning of one. */
function withoutTokens({ label, prompt, ...mark }: TurnMark): TurnMark {
  const hidden = (text: string): string => (typeof text === 'string' ? withoutSecrets(text) : text);
  return {
    ...mark,
    ...(label === undefined ? {} : { label: hidden(label) }),
    ...(prompt === undefined ? {} : { prompt: hidden(prompt) }),
  };
}
