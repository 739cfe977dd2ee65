import { kindOf, readSnapshot } from '../disk/read.ts';
import { type Look, recordLook } from '../gate/shown.ts';
import { validateOptions } from '../gate/validate.ts';
import type { World } from '../gate/world.ts';
import { ClientCall } from '../model/call.ts';
import { Fault } from '../model/fault.ts';
import { sameFingerprint } from '../model/fingerprint.ts';
import type { FileKind } from '../model/path.ts';
import type { Policy, PresetName } from '../model/policy.ts';
import type {
  FindResult,
  InfoResult,
  ListResult,
  ReadResult,
  ResolveResult,
  SearchResult,
  StalenessResult,
  StatusResult,
} from '../model/results.ts';
import type { CallOptions, FindOptions, ListOptions, ReadOptions, SearchOptions } from '../model/session.ts';
import type { Sighting } from '../model/sighting.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import { countOf } from '../report/amounts.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { canonicalName } from '../workspace/roots.ts';
import type { Located } from '../workspace/workspace.ts';
import { findFiles } from './find.ts';
import { listFolder } from './list.ts';
import { AS_GIVEN, callNames, type PathNames, pathForm, withShownPaths } from './path-names.ts';
import { readFile } from './read-file.ts';
import type { PageEnds, ReadControls, ReadRequest } from './reading.ts';
import { searchText } from './search.ts';
import { SessionLife } from './session-life.ts';
import { status } from './status.ts';

const NS_PER_MS = 1_000_000n;

/** The operations of a session that change nothing. */
export class LookingSession extends SessionLife {
  readonly modelContext: ModelContext = new ModelContext(this.knowledge);
  readonly #pageEnds: PageEnds = new Map();
  /**
   * The times of the client's call to which the next operation belongs. Defined only while `inCall`
   * runs its `work`.
   */
  #times: ClientCall | undefined;

  /** The canonical roots of the workspace. Relative paths start at the first. */
  get roots(): readonly string[] {
    return this.host.world.workspace.roots;
  }

  get policy(): Policy {
    return this.host.world.policy;
  }

  /** The path of the state folder. */
  get home(): string {
    return this.host.world.home;
  }

  /** The preset whose wording refusals and notices use. */
  get wording(): PresetName {
    return this.host.world.policy.preset;
  }

  /** The present time in milliseconds, from the workspace's clock. */
  now(): number {
    return this.host.world.now();
  }

  read(path: string, options: ReadOptions = {}): Promise<Outcome<ReadResult>> {
    return this.called(options, (names, { policy: { maxAnswerBytes } }, times) => {
      const wrong = validateOptions(options, { of: 'read', path });
      if (wrong !== undefined) return this.noted(refused(wrong));
      const { signal, onProgress } = options;
      const watching = { signal, onProgress, times };
      const pageEnds = this.#pageEnds;
      return this.#read({
        path: names.real(path),
        options,
        watching,
        from: 'disk',
        pageEnds,
        maxAnswerBytes,
      });
    });
  }

  async readMany(
    paths: readonly string[],
    options: ReadOptions = {},
  ): Promise<readonly Outcome<ReadResult>[]> {
    if (!Array.isArray(paths)) throw new Fault('MISUSE', 'the paths to read must be a list');
    const outcomes: Outcome<ReadResult>[] = [];
    const times = newCall();
    for (const path of paths) outcomes.push(await this.inCall(times, () => this.read(path, options)));
    times.answered();
    return outcomes;
  }

  /**
   * Reads a file for a tool: from memory if it is unchanged. The result shares this process's own
   * bytes, so callers must not modify them. `maxAnswerBytes` limits the bytes of lines, for callers
   * that would cut a longer answer.
   */
  readForTool(
    path: string,
    options: Omit<ReadOptions, keyof ReadControls> & { readonly maxAnswerBytes?: number | undefined },
    watching: ReadControls,
  ): Outcome<ReadResult> | Promise<Outcome<ReadResult>> {
    const names = this.#names({});
    const { maxAnswerBytes: most } = this.host.world.policy;
    const read = this.#read({
      path: names.real(path),
      options,
      watching,
      from: 'memory',
      pageEnds: this.#pageEnds,
      maxAnswerBytes: Math.min(options.maxAnswerBytes ?? most, most),
    });
    if (names === AS_GIVEN) return read;
    return read instanceof Promise
      ? read.then((outcome) => withShownPaths(outcome, names))
      : withShownPaths(read, names);
  }

  #read(request: ReadRequest): Outcome<ReadResult> | Promise<Outcome<ReadResult>> {
    const read = readFile(this.world(), this.knowledge, request);
    return read instanceof Promise
      ? read.then((outcome) => this.#ended(request, outcome))
      : this.#ended(request, read);
  }

  /** Counts and journals the refusal of a read; a success ends the count. */
  #ended(
    { path, options }: ReadRequest,
    outcome: Outcome<ReadResult>,
  ): Outcome<ReadResult> | Promise<Outcome<ReadResult>> {
    if (!outcome.ok) return this.noted(outcome);
    if (options.credit !== false) this.gate.refusals.reset(path);
    return outcome;
  }

  list(path = '.', options: ListOptions = {}): Promise<Outcome<ListResult>> {
    return this.called(options, async (names, world, times) => {
      const wrong = validateOptions(options, { of: 'list', path });
      const meant = names.real(path);
      const request = { path: meant, options, times };
      const outcome = wrong ? refused(wrong) : await listFolder(world, this.knowledge, request);
      const looked = await this.noted(outcome);
      if (!looked.ok) return looked;
      this.gate.refusals.reset(meant);
      await this.#looked(listed(meant, looked));
      return looked;
    });
  }

  find(pattern: string, options: FindOptions = {}): Promise<Outcome<FindResult>> {
    return this.called(options, async (names, world) => {
      const wrong = validateOptions(options, { of: 'find' });
      const asked = startingAt(options, names);
      const found = await this.noted(wrong ? refused(wrong) : await findFiles(world, pattern, asked));
      if (found.ok) {
        const { paths } = found;
        this.gate.refusals.resetSearches(asked.path ?? '.');
        const text = countOf(paths.length, 'file');
        await this.#looked({ action: 'search', path: asked.path ?? '.', text, shown: paths.join('\n') });
      }
      return found;
    });
  }

  search(pattern: string, options: SearchOptions = {}): Promise<Outcome<SearchResult>> {
    return this.called(options, async (names, world) => {
      const wrong = validateOptions(options, { of: 'search' });
      const asked = startingAt(options, names);
      const found = await this.noted(wrong ? refused(wrong) : await searchText(world, pattern, asked));
      if (found.ok) {
        const { hits } = found;
        this.gate.refusals.resetSearches(asked.path ?? '.');
        const text = countOf(found.matches, 'match');
        await this.#looked({ action: 'search', path: asked.path ?? '.', text, shown: JSON.stringify(hits) });
      }
      return found;
    });
  }

  /** Resolves a path with all its links, even if the file does not exist yet. Changes and records nothing. */
  resolve(path: string, options: CallOptions = {}): Promise<Outcome<ResolveResult>> {
    return this.called(options, (names, world) => {
      const outcome = world.workspace.resolve(names.real(path));
      return outcome.ok ? { ok: true, absolute: outcome.path.absolute, exists: outcome.exists } : outcome;
    });
  }

  /** The file system's data about a path. */
  info(path: string, options: CallOptions = {}): Promise<Outcome<InfoResult>> {
    return this.called(options, (names, world) => this.noted(fileInfo(world, names.real(path))));
  }

  /**
   * The kind of file at a path. Undefined if there is none, or if the session may not access the path. Records nothing.
   */
  async kindAt(path: string): Promise<FileKind | undefined> {
    const names = this.#names({});
    const info = await this.during((world) => fileInfo(world, names.real(path)));
    return info.ok ? info.kind : undefined;
  }

  /** An absolute path with its links resolved. Names that do not exist stay as given. */
  realName(path: string): string {
    return canonicalName(path);
  }

  /**
   * The canonical path inside the workspace to which a path outside leads through links; undefined
   * for every other path.
   */
  nameInside(path: string): string | undefined {
    const { workspace } = this.host.world;
    const canonical = workspace.canonicalOutside(path);
    return canonical === undefined || workspace.pathOf(canonical) === undefined ? undefined : canonical;
  }

  async hasBeenRead(path: string, options: CallOptions = {}): Promise<boolean> {
    const outcome = await this.called(options, async (names, world) => {
      const meant = names.real(path);
      return { ok: true, read: await hasBeenRead(world, this.knowledge, meant) };
    });
    return outcome.ok && outcome.read;
  }

  checkStaleness(path: string, options: CallOptions = {}): Promise<Outcome<StalenessResult>> {
    return this.called(options, async (names, world) => {
      const meant = names.real(path);
      return this.noted(await checkStaleness(world, this.knowledge, meant));
    });
  }

  status(path?: string, options: CallOptions = {}): Promise<Outcome<StatusResult>> {
    return this.called(options, async (names, world) => {
      const meant = path === undefined ? path : names.real(path);
      return this.noted(await status(world, this.knowledge, meant));
    });
  }

  /** Journals a list, find or search. If the journal cannot be written, the operation still succeeds, as reads do. */
  async #looked(look: Look): Promise<void> {
    try {
      await recordLook(this.world(), this.knowledge, look);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }

  /**
   * Runs an operation that is part of a client's call. `times`: when that call arrived and was
   * answered. Without `times`, the operation counts as a call of its own. `work` must start the
   * operation synchronously.
   */
  inCall<T>(times: ClientCall | undefined, work: () => T): T {
    this.#times = times;
    try {
      return work();
    } finally {
      this.#times = undefined;
    }
  }

  /** Runs an operation unless its signal has fired, and converts the paths in its result to the caller's form. */
  protected async called<T>(
    options: CallOptions,
    work: (names: PathNames, world: World, times: ClientCall) => Outcome<T> | Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const given = this.#times;
    const times = given ?? newCall();
    const world = this.beginWork();
    try {
      // Untyped callers may pass null.
      const { signal, cwd } = options ?? {};
      // Validate only if `signal` or `cwd` is given: most calls have neither, and the check would
      // take longer than the fastest operations.
      const isChecked = signal === undefined && cwd === undefined;
      const wrong = isChecked ? undefined : validateOptions({ signal, cwd }, { of: 'call' });
      if (wrong === undefined) signal?.throwIfAborted();
      const names = wrong === undefined ? this.#names({ cwd }) : AS_GIVEN;
      // Wait even for an outcome that is there: calls that were made together cannot know each other's answers.
      const outcome = await (wrong === undefined ? work(names, world, times) : this.noted<T>(refused(wrong)));
      const shown = withShownPaths(outcome, names);
      const { preset: wording } = world.policy;
      // Note the time of the answer here, so that it is set before the caller's own `then` runs. A
      // failed operation has no answer, so no time is noted for it.
      if (given === undefined) times.answered();
      return wording === 'default' ? shown : worded(shown, wording);
    } finally {
      this.endWork();
    }
  }

  /** The converter for the paths of one call. */
  #names({ cwd }: Pick<CallOptions, 'cwd'>): PathNames {
    if (cwd === undefined && this.cwd === undefined) return AS_GIVEN;
    const [root = '/'] = this.roots;
    const own = pathForm({ root, cwd: this.cwd });
    return callNames(cwd === undefined ? own : pathForm({ root, cwd: own.real(cwd) }));
  }
}

function newCall(): ClientCall {
  return new ClientCall();
}

/** Separates the options common to all methods from those of one operation, which become part of its intent. */
export function partsOf<T extends CallOptions>(
  options: T,
): { readonly call: CallOptions; readonly own: Omit<T, keyof CallOptions> } {
  // Spread the options, because untyped callers may pass anything. The members of a non-object then
  // become unknown fields, which are refused.
  const { signal, cwd, ...own } = { ...options };
  return { call: { signal, cwd }, own };
}

function startingAt<T extends { readonly path?: string | undefined }>(options: T, names: PathNames): T {
  return names === AS_GIVEN ? options : { ...options, path: names.real(options.path ?? '.') };
}

function listed(path: string, { entries }: ListResult): Look {
  const shown = entries.map((entry) => entry.path).join('\n');
  return { action: 'list', path, text: countOf(entries.length, 'entry'), shown };
}

/** The file system's data about a path. No content is read, so nothing counts as seen. */
function fileInfo(world: World, path: string): Outcome<InfoResult> {
  const found = world.workspace.resolve(path);
  if (!found.ok) return found;
  if (!found.exists) return refused({ code: 'NOT_FOUND', action: 'status', path, next: 'list' });
  const { stats } = found;
  return {
    ok: true,
    path,
    absolute: found.path.absolute,
    kind: kindOf(stats),
    sizeBytes: Number(stats.size),
    createdMs: Number(stats.birthtimeNs / NS_PER_MS),
    modifiedMs: Number(stats.mtimeNs / NS_PER_MS),
    accessedMs: Number(stats.atimeNs / NS_PER_MS),
    mode: Number(stats.mode & 0o777n),
  };
}

/** A refusal with the preset whose sentences `explain` uses for it. */
function worded<T>(outcome: Outcome<T>, wording: PresetName): Outcome<T> {
  return outcome.ok ? outcome : refused({ ...outcome.refusal, wording });
}

/**
 * Compares a file, by hash, with the bytes that the session has seen. The `reason` uses the words
 * of the preset `staleness`.
 */
async function checkStaleness(
  world: World,
  knowledge: Knowledge,
  path: string,
): Promise<Outcome<StalenessResult>> {
  const check = async (located: Located): Promise<Outcome<StalenessResult>> => {
    const sighting = await knowledge.recall(located.place.path.key);
    const seen = stateOf(sighting);
    if (seen === undefined) return { ok: true, stale: false, reason: 'file not previously tracked' };
    if (!located.exists) return { ok: true, stale: true, reason: 'file was deleted since last read', seen };
    const snapshot = await readSnapshot(located.place, { clock: world.disk.clock });
    if ('problem' in snapshot) return { ok: true, stale: true, reason: 'file cannot be read any more', seen };
    const { fingerprint, stats } = snapshot;
    const now = { ...fingerprint, mtimeMs: Number(stats.mtimeNs / NS_PER_MS) };
    return sameFingerprint(fingerprint, seen)
      ? { ok: true, stale: false, reason: 'content identical', seen, now }
      : { ok: true, stale: true, reason: 'file modified externally', seen, now };
  };
  return world.workspace.at({ path, action: 'status' }, check, (refused) => refused);
}

function stateOf(sighting: Sighting | undefined): StalenessResult['seen'] {
  if (sighting?.fingerprint === undefined || sighting.tombstone === true) return undefined;
  const { fingerprint, stamp, atMs: at } = sighting;
  return stamp === undefined
    ? { ...fingerprint, at }
    : { ...fingerprint, mtimeMs: Number(stamp.mtimeNs / NS_PER_MS), at };
}

/** True if the session was shown a part of the file and still has it in its context. */
async function hasBeenRead(world: World, knowledge: Knowledge, path: string): Promise<boolean> {
  const resolved = world.workspace.resolve(path);
  const sighting = resolved.ok ? await knowledge.recall(resolved.path.key) : undefined;
  if (sighting === undefined || sighting.tombstone === true || sighting.how === 'listing') return false;
  return sighting.coverage.kind !== 'none';
}

/** The part of the model's context that adapters know, because they see each request to the model. */
class ModelContext {
  /** The tool results in the last request to the model: a digest of each result, by the id of its call. */
  results: ReadonlyMap<string, string> | undefined;
  /**
   * When this process resumed the session. Undefined for a session that began in this process, or
   * that another process has open too.
   */
  resumedMs: number | undefined;
  readonly #knowledge: Knowledge;

  constructor(knowledge: Knowledge) {
    this.#knowledge = knowledge;
  }

  /**
   * Forgets what the session saw before this process resumed it, because the resumed conversation
   * may no longer contain that. Returns false if there was nothing to forget.
   */
  async forgetPast(): Promise<boolean> {
    if (this.resumedMs === undefined) return false;
    return (await this.#knowledge.rewound(0, this.resumedMs - 1)) > 0;
  }
}
