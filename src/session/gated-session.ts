import { GatedForeign } from '../gate/foreign/gated-foreign.ts';
import { counted, type Look, recordLook } from '../gate/shown-entry.ts';
import { undo } from '../gate/undo/undo.ts';
import type { World } from '../gate/world.ts';
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
  ApplyOptions,
  CallOptions,
  ChangeEnding,
  Command,
  CommandOptions,
  DeleteOptions,
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
import { copyIntent } from './copy.ts';
import { findFiles } from './find.ts';
import { fileInfo } from './info.ts';
import { listFolder } from './list.ts';
import { type PathNames, pathNames, withRealPaths, withShownPaths } from './path-names.ts';
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
    return this.#called(options, (names) => {
      const wrong = whyNoOptions(options, { of: 'read', path });
      if (wrong !== undefined) return this.noted(refused(wrong));
      const meant = names === undefined ? path : names.real(path);
      return this.#read({ path: meant, options, watching: options, from: 'disk', pageEnds: this.#pageEnds });
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
    const names = this.#names({});
    if (names === undefined)
      return this.#read({ path, options, watching, from: 'memory', pageEnds: this.#pageEnds });
    const meant = names.real(path);
    const read = this.#read({ path: meant, options, watching, from: 'memory', pageEnds: this.#pageEnds });
    return andThen(read, (outcome) => withShownPaths(outcome, names));
  }

  #read(request: ReadRequest): Awaitable<Outcome<ReadResult>> {
    const read = readFile(this.world(), this.ledger, request);
    return andThen(read, (outcome): Awaitable<Outcome<ReadResult>> => {
      if (!outcome.ok) return this.noted(outcome);
      if (request.options.credit !== false) this.gate.refusals.reset(request.path);
      return outcome;
    });
  }

  write(
    path: string,
    content: string | Uint8Array,
    options: WriteOptions = {},
  ): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'write', path, content }, options);
  }

  edit(path: string, edits: readonly Edit[], options: EditOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'edit', path, edits }, options);
  }

  append(path: string, content: string, options: CallOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'insert', path, content }, options);
  }

  insert(path: string, content: string, options: InsertOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'insert', path, content }, options);
  }

  apply(changes: readonly FileIntent[], options: ApplyOptions = {}): Promise<Outcome<ApplyResult>> {
    const { call, own } = partsOf(options);
    return this.perform({ ...own, kind: 'apply', changes }, call);
  }

  /** `names`: how the paths in the text are written, if not as the session takes them. */
  patch(
    { format, text }: Patch,
    { names, ...options }: ApplyOptions & { readonly names?: PathNames | undefined } = {},
  ): Promise<Outcome<ApplyResult>> {
    const parsed = parsePatch(format, text);
    if (parsed.ok) {
      const { changes } = parsed;
      return this.apply(
        names === undefined ? changes : changes.map((one) => withRealPaths(one, names)),
        options,
      );
    }
    return this.#called(options, () => {
      const detail = { reason: parsed.reason };
      const about = { code: 'INVALID_ARGUMENT', action: 'edit', path: '', next: 'fix_argument' } as const;
      return this.noted(refused({ ...about, detail }));
    });
  }

  delete(path: string, options: DeleteOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'delete', path }, options);
  }

  move(source: string, destination: string, options: MoveOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'move', source, destination }, options);
  }

  copy(source: string, destination: string, options: MoveOptions = {}): Promise<Outcome<ChangeResult>> {
    const { call, own } = partsOf(options);
    return this.#called(call, async (names) => {
      const real = (path: string): string => (names === undefined ? path : names.real(path));
      const copying = { source: real(source), destination: real(destination), options: own };
      const copied = await copyIntent(this.world(), this.ledger, copying);
      if (!copied.ok) return this.noted(copied);
      return onlyResult(await this.gate.perform(copied.intent, { signal: call.signal }));
    });
  }

  mkdir(path: string, options: CallOptions = {}): Promise<Outcome<ChangeResult>> {
    return this.#one({ kind: 'mkdir', path }, options);
  }

  list(path = '.', options: ListOptions = {}): Promise<Outcome<ListResult>> {
    return this.#called(options, async (names, world) => {
      const wrong = whyNoOptions(options, { of: 'list', path });
      const meant = names === undefined ? path : names.real(path);
      const outcome = wrong ? refused(wrong) : await listFolder(world, this.ledger, { path: meant, options });
      const looked = await this.noted(outcome);
      if (looked.ok) await this.#looked(listed(meant, looked));
      return looked;
    });
  }

  find(pattern: string, options: FindOptions = {}): Promise<Outcome<FindResult>> {
    return this.#called(options, async (names, world) => {
      const wrong = whyNoOptions(options, { of: 'find' });
      const asked = startingAt(options, names);
      const found = await this.noted(wrong ? refused(wrong) : await findFiles(world, pattern, asked));
      if (found.ok) {
        const { paths } = found;
        const text = counted(paths.length, 'file');
        await this.#looked({ action: 'search', path: asked.path ?? '.', text, shown: paths.join('\n') });
      }
      return found;
    });
  }

  search(pattern: string, options: SearchOptions = {}): Promise<Outcome<SearchResult>> {
    return this.#called(options, async (names, world) => {
      const wrong = whyNoOptions(options, { of: 'search' });
      const asked = startingAt(options, names);
      const found = await this.noted(wrong ? refused(wrong) : await searchText(world, pattern, asked));
      if (found.ok) {
        const { hits } = found;
        const text = counted(found.matches, 'match', 'matches');
        await this.#looked({ action: 'search', path: asked.path ?? '.', text, shown: JSON.stringify(hits) });
      }
      return found;
    });
  }

  /** Where a path leads, all links resolved, also for a file that does not exist yet. Changes and records nothing. */
  resolve(path: string, options: CallOptions = {}): Promise<Outcome<ResolveResult>> {
    return this.#called(options, (names, world) => {
      const outcome = world.workspace.resolve(names === undefined ? path : names.real(path));
      return outcome.ok ? { ok: true, absolute: outcome.path.absolute, exists: outcome.exists } : outcome;
    });
  }

  /** What the file system says about a path. */
  info(path: string, options: CallOptions = {}): Promise<Outcome<InfoResult>> {
    return this.#called(options, (names, world) =>
      this.noted(fileInfo(world, names === undefined ? path : names.real(path))),
    );
  }

  status(path?: string, options: CallOptions = {}): Promise<Outcome<StatusResult>> {
    return this.#called(options, async (names, world) => {
      const meant = path === undefined || names === undefined ? path : names.real(path);
      return this.noted(await status(world, this.ledger, meant));
    });
  }

  undo(selection: UndoSelection = {}, options: CallOptions = {}): Promise<Outcome<UndoResult>> {
    return this.#called(options, async (names, world) => {
      const wrong = whyNoOptions(selection, { of: 'undo' }) ?? whyNoUndo(world.policy, selection);
      if (wrong !== undefined) return this.noted(refused(wrong));
      const { path } = selection;
      const meant =
        path === undefined || names === undefined ? selection : { ...selection, path: names.real(path) };
      const { signal } = options;
      return this.noted(await undo(world, this.ledger, { ...meant, by: 'session', signal }));
    });
  }

  run(command: Command, options: RunOptions = {}): Promise<Outcome<RunResult>> {
    return this.#called(options, async (names, world) => {
      // Checked here too: what is no object has no folder.
      const wrong = whyNoOptions(options, { of: 'run' });
      if (wrong !== undefined) return this.noted(refused(wrong));
      const asked = {
        command,
        options: names === undefined ? options : { ...options, cwd: names.real('.') },
      };
      return this.noted(await runCommand(world, this.ledger, asked));
    });
  }

  vet(intent: Intent, options: CallOptions = {}): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.#called(options, (names) =>
      this.gate.vet(names === undefined ? intent : withRealPaths(intent, names)),
    );
  }

  perform(intent: Intent, options: CallOptions = {}): Promise<Outcome<ApplyResult>> {
    const arrivedAt = this.#arrivedAt;
    return this.#called(options, (names) => {
      const meant = names === undefined ? intent : withRealPaths(intent, names);
      return this.gate.perform(meant, { arrivedAt, signal: options.signal });
    });
  }

  announce(
    intents: readonly ForeignIntent[],
    options: AnnounceOptions = {},
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>> {
    const { call, own } = partsOf(options);
    return this.#called(call, (names) => {
      const isList = Array.isArray(intents) && names !== undefined;
      return this.gate.announce(isList ? intents.map((one) => withRealPaths(one, names)) : intents, own);
    });
  }

  settle(
    change: string,
    ending: ChangeEnding,
    options: CallOptions = {},
  ): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.#called(options, () => this.gate.settle(change, ending));
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

  witness(event: WitnessEvent, options: CallOptions = {}): Promise<Outcome<{ notices: readonly Notice[] }>> {
    return this.#called(options, (names) =>
      this.gate.witness(names === undefined ? event : withRealPaths(event, names)),
    );
  }

  /** Journals what was shown. Looking goes on where the journal cannot be written, as reading does. */
  async #looked(look: Look): Promise<void> {
    try {
      await recordLook(this.world(), this.ledger, look);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }

  async #one(intent: FileIntent, options: CallOptions): Promise<Outcome<ChangeResult>> {
    const { call, own } = partsOf(options);
    return onlyResult(await this.perform({ ...own, ...intent }, call));
  }

  /** Runs an operation unless its signal has fired, and shows its paths as the caller writes them. */
  #called<T>(
    options: CallOptions,
    work: (names: PathNames | undefined, world: World) => Awaitable<Outcome<T>>,
  ): Promise<Outcome<T>> {
    return this.during(async (world) => {
      const { signal, cwd } = partsOf(options).call;
      const wrong = whyNoOptions({ signal, cwd }, { of: 'call' });
      if (wrong !== undefined) return this.noted(refused(wrong));
      signal?.throwIfAborted();
      const names = this.#names({ cwd });
      const outcome = await work(names, world);
      return names === undefined ? outcome : withShownPaths(outcome, names);
    });
  }

  /** How the paths of one call are written; undefined: relative to the first root. */
  #names({ cwd }: Pick<CallOptions, 'cwd'>): PathNames | undefined {
    if (cwd === undefined && this.cwd === undefined) return undefined;
    const [root = '/'] = this.roots;
    const own = pathNames({ root, cwd: this.cwd });
    return cwd === undefined ? own : pathNames({ root, cwd: own.real(cwd) });
  }
}

/** The options that every method takes, and those of one operation, which become part of its intent. */
function partsOf<T extends CallOptions>(
  options: T,
): { readonly call: CallOptions; readonly own: Omit<T, keyof CallOptions> } {
  // A program without types may hand over anything; the members of what is no object are refused as unknown.
  const { signal, cwd, ...own } = { ...options };
  return { call: { signal, cwd }, own };
}

function startingAt<T extends { readonly path?: string | undefined }>(
  options: T,
  names: PathNames | undefined,
): T {
  return names === undefined ? options : { ...options, path: names.real(options.path ?? '.') };
}

function onlyResult(outcome: Outcome<ApplyResult>): Outcome<ChangeResult> {
  if (!outcome.ok) return outcome;
  const [result] = outcome.results;
  if (result === undefined) throw new Fault('MISUSE', 'a change gave no result');
  return { ok: true, ...result };
}

function listed(path: string, { entries }: ListResult): Look {
  const shown = entries.map((entry) => entry.path).join('\n');
  return { action: 'list', path, text: counted(entries.length, 'entry', 'entries'), shown };
}
