import { Gate } from '../gate/gate.ts';
import { undo } from '../gate/undo/undo.ts';
import type { World } from '../gate/world.ts';
import type { Transcript } from '../history/derive.ts';
import { Ledger } from '../ledger/ledger.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import { Fault } from '../model/fault.ts';
import type { Edit, FileIntent, Intent } from '../model/intent.ts';
import type {
  ApplyResult,
  ChangeResult,
  FindResult,
  InfoResult,
  ListResult,
  Notice,
  ReadResult,
  SearchResult,
  StatusResult,
  UndoResult,
  WitnessEvent,
} from '../model/results.ts';
import type {
  EditOptions,
  FindOptions,
  InsertOptions,
  ListOptions,
  MoveOptions,
  ReadOptions,
  SearchOptions,
  Session,
  UndoSelection,
  WriteOptions,
} from '../model/session.ts';
import type { TurnMark } from '../model/turn.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import { whyNoOptions, whyNoUndo } from './check-options.ts';
import { confirms } from './confirm.ts';
import { Conversation } from './conversation.ts';
import { findFiles } from './find.ts';
import { fileInfo } from './info.ts';
import { listFolder } from './list.ts';
import { type ReadRequest, readFile } from './read-file.ts';
import type { PageEnds, Watching } from './reading.ts';
import type { Resumed, ResumeOptions } from './resume-from.ts';
import { searchText } from './search.ts';
import { status } from './status.ts';

/** What a session asks of whoever opened it. */
export interface SessionHost {
  readonly world: World;
  open(id: string | undefined, like: { readonly parent: string }): Promise<GatedSession>;
  closed(session: GatedSession, idle: Promise<void> | undefined): Promise<void>;
}

/** A session over a gate: every operation is a few lines that hand on to the one place that does it. */
export class GatedSession implements Session {
  readonly id: string;
  readonly named: boolean;
  readonly #host: SessionHost;
  readonly #ledger: Ledger;
  readonly #gate: Gate;
  readonly #conversation: Conversation;
  readonly #pageEnds: PageEnds = new Map();
  /** Operations under way, which closing waits for: the workspace goes with its last session. */
  #under = 0;
  #whenIdle: (() => void) | undefined;
  #ended: Promise<void> | undefined;

  constructor(host: SessionHost, identity: { readonly id: string; readonly named: boolean }) {
    this.id = identity.id;
    this.named = identity.named;
    this.#host = host;
    const { store, policy } = host.world;
    this.#ledger = new Ledger({ store, session: this.id, policy });
    this.#gate = new Gate(host.world, this.#ledger);
    this.#conversation = new Conversation(host.world, this.#ledger);
  }

  read(path: string, options: ReadOptions = {}): Promise<Outcome<ReadResult>> {
    return this.#during(() => {
      const wrong = whyNoOptions(options, { of: 'read', path });
      if (wrong !== undefined) return this.#noted(refused(wrong));
      options.signal?.throwIfAborted();
      return this.#read({ path, options, watching: options, from: 'disk', pageEnds: this.#pageEnds });
    });
  }

  /**
   * Reads for a server: without a turn of the event loop if the file is small, and from memory if it is unchanged. The
   * bytes in the result are this process's own and must not be changed.
   */
  readNow(
    path: string,
    options: Omit<ReadOptions, keyof Watching>,
    watching: Watching,
  ): Awaitable<Outcome<ReadResult>> {
    return this.#read({ path, options, watching, from: 'memory', pageEnds: this.#pageEnds });
  }

  #read(request: ReadRequest): Awaitable<Outcome<ReadResult>> {
    const read = readFile(this.#world(), this.#ledger, request);
    return andThen(read, (outcome): Awaitable<Outcome<ReadResult>> => {
      if (!outcome.ok) return this.#noted(outcome);
      this.#gate.refusals.reset(request.path);
      return outcome;
    });
  }

  write(
    path: string,
    content: string | Uint8Array,
    options: WriteOptions = {},
  ): Promise<Outcome<ChangeResult>> {
    return this.#one({ ...options, kind: 'write', path, content });
  }

  edit(path: string, edits: readonly Edit[], options: EditOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ ...options, kind: 'edit', path, edits });
  }

  append(path: string, content: string): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'insert', path, content });
  }

  insert(path: string, content: string, options: InsertOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ ...options, kind: 'insert', path, content });
  }

  apply(changes: readonly FileIntent[], options: { dryRun?: boolean } = {}): Promise<Outcome<ApplyResult>> {
    return this.perform({ ...options, kind: 'apply', changes });
  }

  delete(path: string, options: { recursive?: boolean } = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ ...options, kind: 'delete', path });
  }

  move(source: string, destination: string, options: MoveOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ ...options, kind: 'move', source, destination });
  }

  mkdir(path: string): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'mkdir', path });
  }

  list(path = '.', options: ListOptions = {}): Promise<Outcome<ListResult>> {
    return this.#during(async (world) => {
      const wrong = whyNoOptions(options, { of: 'list', path });
      return this.#noted(wrong ? refused(wrong) : await listFolder(world, this.#ledger, { path, options }));
    });
  }

  find(pattern: string, options: FindOptions = {}): Promise<Outcome<FindResult>> {
    return this.#during(async (world) => {
      const wrong = whyNoOptions(options, { of: 'find' });
      return this.#noted(wrong ? refused(wrong) : await findFiles(world, pattern, options));
    });
  }

  search(pattern: string, options: SearchOptions = {}): Promise<Outcome<SearchResult>> {
    return this.#during(async (world) => {
      const wrong = whyNoOptions(options, { of: 'search' });
      return this.#noted(wrong ? refused(wrong) : await searchText(world, pattern, options));
    });
  }

  /** What the file system says about a path. */
  info(path: string): Promise<Outcome<InfoResult>> {
    return this.#during((world) => this.#noted(fileInfo(world, path)));
  }

  status(path?: string): Promise<Outcome<StatusResult>> {
    return this.#during(async (world) => this.#noted(await status(world, this.#ledger, path)));
  }

  undo(selection: UndoSelection = {}): Promise<Outcome<UndoResult>> {
    return this.#during(async (world) => {
      const wrong = whyNoOptions(selection, { of: 'undo' }) ?? whyNoUndo(world.policy, selection);
      return this.#noted(
        wrong ? refused(wrong) : await undo(world, this.#ledger, { ...selection, by: 'session' }),
      );
    });
  }

  vet(intent: Intent): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.#during(() => this.#gate.vet(intent));
  }

  perform(intent: Intent): Promise<Outcome<ApplyResult>> {
    return this.#during(() => this.#gate.perform(intent));
  }

  witness(event: WitnessEvent): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.#during(() => this.#gate.witness(event));
  }

  beginTurn(mark: TurnMark): Promise<void> {
    return this.#during(() => this.#conversation.beginTurn(mark));
  }

  checkpoint(label: string): Promise<{ readonly turn: string }> {
    return this.#during(() => this.#conversation.checkpoint(label));
  }

  compacted(): Promise<void> {
    return this.#during(() => this.#conversation.compacted());
  }

  resumed(): Promise<void> {
    return this.#during(() => this.#conversation.resumed());
  }

  /** Takes in what the model of a conversation has seen, from its transcript alone; only what the disk confirms licenses anything. */
  resumeFrom(transcript: Transcript, options: ResumeOptions = {}): Promise<Resumed> {
    return this.#during(() => this.#conversation.resumeFrom(transcript, options));
  }

  rewound(toMs: number): Promise<void> {
    return this.#during(() => this.#conversation.rewound(toMs));
  }

  fork(id?: string): Promise<Session> {
    return this.#during(async (world) => {
      const copy = await this.#host.open(id, { parent: this.id });
      await world.store.record(await this.#ledger.forkWrites(copy.id));
      return copy;
    });
  }

  child(id?: string): Promise<Session> {
    return this.#during(async () => {
      const child = await this.#host.open(id, { parent: this.id });
      // The sub-agent works within the turn of its parent, so that a rewind of that turn includes it.
      child.#conversation.continueTurnOf(this.#conversation);
      return child;
    });
  }

  /** Everything this session has seen, for another process to take in with `importSightings`. */
  exportSightings(): Promise<string> {
    return this.#during(() => this.#ledger.exportJson());
  }

  /** Takes in exported sightings that the disk confirms; the others are dropped. */
  importSightings(text: string): Promise<{ readonly kept: number; readonly dropped: number }> {
    return this.#during((world) => this.#ledger.importJson(text, (sighting) => confirms(world, sighting)));
  }

  /** Lets what is under way come to its end; whatever is asked for later is a Fault. */
  close(): Promise<void> {
    this.#ended ??= this.#host.closed(this, this.#idle());
    return this.#ended;
  }

  #idle(): Promise<void> | undefined {
    if (this.#under === 0) return undefined;
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
    });
  }

  /** Forgets everything this session has seen. */
  async forget(): Promise<void> {
    await this.#ledger.forget();
    await this.#host.world.store.record({ dropSession: this.id });
  }

  #world(): World {
    if (this.#ended !== undefined) throw new Fault('MISUSE', `session ${this.id} is closed`);
    return this.#host.world;
  }

  async #during<T>(work: (world: World) => Awaitable<T>): Promise<T> {
    const world = this.#world();
    this.#under += 1;
    try {
      return await work(world);
    } finally {
      this.#under -= 1;
      if (this.#under === 0) this.#whenIdle?.();
    }
  }

  async #one(intent: FileIntent): Promise<Outcome<ChangeResult>> {
    const outcome = await this.perform(intent);
    if (!outcome.ok) return outcome;
    const [result] = outcome.results;
    if (result === undefined) throw new Fault('MISUSE', 'a change gave no result');
    return { ok: true, ...result };
  }

  /** Refusals of operations that do not go through the gate are counted and journalled like all others. */
  async #noted<T>(outcome: Outcome<T>): Promise<Outcome<T>> {
    if (outcome.ok) return outcome;
    return { ok: false, ...(await this.#gate.refusals.record(outcome)) };
  }
}
