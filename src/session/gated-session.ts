import { GatedForeign } from '../gate/foreign/gated-foreign.ts';
import { counted, type Look, recordLook } from '../gate/shown-entry.ts';
import { undo } from '../gate/undo/undo.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import { Fault } from '../model/fault.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import type { Edit, FileIntent, ForeignIntent, Intent } from '../model/intent.ts';
import type { PresetName } from '../model/policy.ts';
import type {
  ApplyResult,
  ChangeResult,
  FindResult,
  InfoResult,
  ListResult,
  Notice,
  ReadResult,
  ResolveResult,
  RunResult,
  SearchResult,
  StatusResult,
  UndoResult,
  WitnessEvent,
} from '../model/results.ts';
import type {
  AnnounceOptions,
  ChangeEnding,
  Command,
  CommandOptions,
  EditOptions,
  FindOptions,
  InsertOptions,
  ListOptions,
  MoveOptions,
  Patch,
  ReadOptions,
  RunOptions,
  SearchOptions,
  Session,
  UndoSelection,
  WriteOptions,
} from '../model/session.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import { parsePatch } from '../text/patch/parse.ts';
import { whyNoOptions, whyNoUndo } from './check-options.ts';
import { findFiles } from './find.ts';
import { fileInfo } from './info.ts';
import { listFolder } from './list.ts';
import { type PathNames, withRealPaths } from './path-names.ts';
import { type ReadRequest, readFile } from './read-file.ts';
import type { PageEnds, Watching } from './reading.ts';
import { runCommand } from './run.ts';
import { searchText } from './search.ts';
import { SessionLife } from './session-life.ts';
import { status } from './status.ts';

/** A session over a gate: every operation is a few lines that hand on to the one place that does it. */
export class GatedSession extends SessionLife implements Session {
  readonly #pageEnds: PageEnds = new Map();
  /** When the call arrived whose change begins right now; Infinity: it knows all that was shown. */
  #arrivedAt = Number.POSITIVE_INFINITY;

  /** The workspace's roots, canonical; relative paths start at the first. */
  get roots(): readonly string[] {
    return this.host.world.workspace.roots;
  }

  /** Whose sentences refusals and notices use. */
  get wording(): PresetName {
    return this.host.world.policy.wording;
  }

  /** The workspace's clock. */
  now(): number {
    return this.host.world.now();
  }

  read(path: string, options: ReadOptions = {}): Promise<Outcome<ReadResult>> {
    return this.during(() => {
      const wrong = whyNoOptions(options, { of: 'read', path });
      if (wrong !== undefined) return this.noted(refused(wrong));
      options.signal?.throwIfAborted();
      return this.#read({ path, options, watching: options, from: 'disk', pageEnds: this.#pageEnds });
    });
  }

  async readMany(
    paths: readonly string[],
    options: ReadOptions = {},
  ): Promise<readonly Outcome<ReadResult>[]> {
    if (!Array.isArray(paths)) throw new Fault('MISUSE', 'the paths to read must be a list');
    const outcomes: Outcome<ReadResult>[] = [];
    for (const path of paths) outcomes.push(await this.read(path, options));
    return outcomes;
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
    const read = readFile(this.world(), this.ledger, request);
    return andThen(read, (outcome): Awaitable<Outcome<ReadResult>> => {
      if (!outcome.ok) return this.noted(outcome);
      this.gate.refusals.reset(request.path);
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

  patch(
    { format, text }: Patch,
    options: { signal?: AbortSignal; dryRun?: boolean; names?: PathNames | undefined } = {},
  ): Promise<Outcome<ApplyResult>> {
    return this.during(async () => {
      options.signal?.throwIfAborted();
      const parsed = parsePatch(format, text);
      const { names } = options;
      if (parsed.ok) {
        const changes =
          names === undefined ? parsed.changes : parsed.changes.map((one) => withRealPaths(one, names));
        return this.apply(changes, { dryRun: options.dryRun === true });
      }
      const detail = { reason: parsed.reason };
      const refusal = {
        code: 'INVALID_ARGUMENT',
        action: 'edit',
        path: '',
        next: 'fix_argument',
        detail,
      } as const;
      return this.noted(refused(refusal));
    });
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
    return this.during(async (world) => {
      const wrong = whyNoOptions(options, { of: 'list', path });
      const outcome = wrong ? refused(wrong) : await listFolder(world, this.ledger, { path, options });
      const looked = await this.noted(outcome);
      if (looked.ok) await this.#looked(listed(path, looked));
      return looked;
    });
  }

  find(pattern: string, options: FindOptions = {}): Promise<Outcome<FindResult>> {
    return this.during(async (world) => {
      const wrong = whyNoOptions(options, { of: 'find' });
      const found = await this.noted(wrong ? refused(wrong) : await findFiles(world, pattern, options));
      if (found.ok) {
        const { paths } = found;
        const text = counted(paths.length, 'file');
        await this.#looked({ action: 'search', path: options.path ?? '.', text, shown: paths.join('\n') });
      }
      return found;
    });
  }

  search(pattern: string, options: SearchOptions = {}): Promise<Outcome<SearchResult>> {
    return this.during(async (world) => {
      const wrong = whyNoOptions(options, { of: 'search' });
      const found = await this.noted(wrong ? refused(wrong) : await searchText(world, pattern, options));
      if (found.ok) {
        const { hits } = found;
        const text = counted(found.matches, 'match', 'matches');
        await this.#looked({
          action: 'search',
          path: options.path ?? '.',
          text,
          shown: JSON.stringify(hits),
        });
      }
      return found;
    });
  }

  /** Where a path leads, all links resolved, also for a file that does not exist yet. Changes and records nothing. */
  resolve(path: string): Promise<Outcome<ResolveResult>> {
    return this.during((world) => {
      const outcome = world.workspace.resolve(path);
      return outcome.ok ? { ok: true, absolute: outcome.path.absolute, exists: outcome.exists } : outcome;
    });
  }

  /** What the file system says about a path. */
  info(path: string): Promise<Outcome<InfoResult>> {
    return this.during((world) => this.noted(fileInfo(world, path)));
  }

  status(path?: string): Promise<Outcome<StatusResult>> {
    return this.during(async (world) => this.noted(await status(world, this.ledger, path)));
  }

  undo(selection: UndoSelection = {}): Promise<Outcome<UndoResult>> {
    return this.during(async (world) => {
      const wrong = whyNoOptions(selection, { of: 'undo' }) ?? whyNoUndo(world.policy, selection);
      return this.noted(
        wrong ? refused(wrong) : await undo(world, this.ledger, { ...selection, by: 'session' }),
      );
    });
  }

  run(command: Command, options: RunOptions = {}): Promise<Outcome<RunResult>> {
    const asked = { command, options };
    return this.during(async (world) => this.noted(await runCommand(world, this.ledger, asked)));
  }

  vet(intent: Intent): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.during(() => this.gate.vet(intent));
  }

  perform(intent: Intent): Promise<Outcome<ApplyResult>> {
    const arrivedAt = this.#arrivedAt;
    return this.during(() => this.gate.perform(intent, arrivedAt));
  }

  announce(
    intents: readonly ForeignIntent[],
    options: AnnounceOptions = {},
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>> {
    return this.during(() => this.gate.announce(intents, options));
  }

  settle(change: string, ending: ChangeEnding): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.during(() => this.gate.settle(change, ending));
  }

  /** A host is about to run a shell command without a layer. Keeps the bytes it may destroy; `settle` records what it did. */
  announceCommand(command: string, options: CommandOptions = {}): Promise<string> {
    return this.during(() => this.gate.announcements.announceCommand(command, options));
  }

  /** The client's shell prefix runs an announced command on a layer now; false if it must not, or if there is no sandbox. */
  moveToLayer(change: string): Promise<boolean> {
    return this.during(async (world) => {
      const probe = await world.processes.probe();
      return probe.ok && this.gate.announcements.moveToLayer(change);
    });
  }

  /** May a shell command write this file? Paths outside the workspace are not judged. */
  vetCommandWrite(intent: ForeignIntent, how: 'edit' | 'replace'): Promise<Outcome<object>> {
    return this.during(() => this.gate.announcements.vetCommandWrite(intent, how));
  }

  /** The change that was announced for a call and is not settled yet. */
  announcedAs(call: string): Promise<string | undefined> {
    return this.during(() => this.gate.announcements.changeOf(call));
  }

  /** Settles changes that this session announced without a lock and that nobody settled, by comparing bytes. */
  settleLeft(): Promise<void> {
    return this.during(() => this.gate.announcements.settleLeft());
  }

  /**
   * Makes a change for a call that arrived at a moment, on the clock of `performance.now()`: what was shown since does not
   * license it. `change` must call the session before it first waits for anything.
   */
  asOf<T>(arrivedAt: number, change: () => Promise<T>): Promise<T> {
    this.#arrivedAt = arrivedAt;
    try {
      return change();
    } finally {
      this.#arrivedAt = Number.POSITIVE_INFINITY;
    }
  }

  /** This session, for a proxy: another server makes its reads and changes. */
  foreign(): ForeignSession {
    return new GatedForeign({ world: this.world(), ledger: this.ledger }, this, this.gate);
  }

  witness(event: WitnessEvent): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.during(() => this.gate.witness(event));
  }

  /** Journals what was shown. Looking goes on where the journal cannot be written, as reading does. */
  async #looked(look: Look): Promise<void> {
    try {
      await recordLook(this.world(), this.ledger, look);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }

  async #one(intent: FileIntent): Promise<Outcome<ChangeResult>> {
    const outcome = await this.perform(intent);
    if (!outcome.ok) return outcome;
    const [result] = outcome.results;
    if (result === undefined) throw new Fault('MISUSE', 'a change gave no result');
    return { ok: true, ...result };
  }
}

function listed(path: string, { entries }: ListResult): Look {
  const shown = entries.map((entry) => entry.path).join('\n');
  return { action: 'list', path, text: counted(entries.length, 'entry', 'entries'), shown };
}
