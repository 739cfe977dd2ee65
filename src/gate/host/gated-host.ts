import { listUnsorted } from '../../disk/list.ts';
import { kindOf, readSnapshot } from '../../disk/read.ts';
import type { ClientCall } from '../../model/call.ts';
import type { HostIntent } from '../../model/intent.ts';
import { LIMITS } from '../../model/limits.ts';
import type { FileKind } from '../../model/path.ts';
import type { Notice, StatusResult, WitnessEvent } from '../../model/results.ts';
import type { ChangeEnding, Session } from '../../model/session.ts';
import type { TurnMark } from '../../model/turn.ts';
import { type Action, type Outcome, refused } from '../../model/verdict.ts';
import { countOf } from '../../report/amounts.ts';
import type { Located } from '../../workspace/workspace.ts';
import type { Gate } from '../gate.ts';
import { guardOutside, holdsOurs } from '../guarded-files.ts';
import { trusted } from '../look.ts';
import { secretRefusal } from '../masking.ts';
import { maskAnswer } from '../secret-values.ts';
import { type ReadEvent, recordLook, type ShownScene, showsWhole, witnessOutput } from '../shown.ts';
import { witness } from '../witness.ts';
import { entryHead, type World } from '../world.ts';

type Witnessed = Promise<Outcome<{ notices: readonly Notice[] }>>;

/**
 * At most this many entries of a folder are read. If a folder has more, its list is not complete.
 */
const MAX_LISTED = 100_000;

/** Opening a file of these kinds may block or have side effects: a server that reads one may hang forever. */
const NOT_FOR_READING: ReadonlySet<FileKind> = new Set(['fifo', 'socket', 'device']);

/**
 * A session that can run an operation for a client's call. In such an operation, only lines shown
 * before the call arrived count as seen.
 */
interface CallingSession extends Session {
  inCall<T>(times: ClientCall | undefined, work: () => T): T;
}

/** A complete listing of a folder. */
interface ListingEvent {
  readonly kind: 'list';
  readonly path: string;
}

/**
 * The result of a tool that shows only metadata or matches (a search, a file size). Nothing in it
 * counts as seen.
 */
interface LookEvent {
  readonly kind: 'look';
  readonly path: string;
  readonly shown: string;
}

/**
 * A session as the proxy uses it. It changes no files: another server does, between `announce` and
 * `settle`.
 */
export class GatedHost {
  readonly id: string;
  /** True if the session may not change anything. */
  readonly readOnly: boolean;
  readonly #scene: ShownScene;
  readonly #session: CallingSession;
  readonly #gate: Pick<Gate, 'refusals' | 'announcements' | 'shown'>;

  /** Called when the call for which the session was chosen is over. */
  readonly ended: (() => void) | undefined;

  /**
   * `gate`: the gate of the session itself. Refusals of its own calls and of another server's calls
   * are counted together.
   */
  constructor(
    scene: ShownScene,
    session: CallingSession,
    {
      gate,
      ended,
    }: { readonly gate: Pick<Gate, 'refusals' | 'announcements' | 'shown'>; ended?: () => void },
  ) {
    this.ended = ended;
    this.id = session.id;
    this.readOnly = scene.world.policy.readOnly;
    this.#scene = scene;
    this.#session = session;
    this.#gate = gate;
  }

  /** Resolves a path if the session may access it for this action. Reads no content. */
  async locate(path: string, action: Action): Promise<Outcome<{ readonly key: string }>> {
    const outcome = hostLocate(this.#scene.world, path, action);
    if (outcome.ok) return outcome;
    const { refusal } = await this.#gate.refusals.record(outcome);
    return refused(refusal);
  }

  /**
   * The path with its names spelled as on disk. Corrects only names that differ in their Unicode
   * form.
   */
  pathOnDisk(path: string): string {
    return pathOnDisk(this.#scene.world, path);
  }

  /** SHA-256 of the file's present bytes; undefined if it cannot be read. */
  async hashOf(path: string): Promise<string | undefined> {
    const { world, knowledge } = this.#scene;
    const hash = async ({ exists, place }: Located): Promise<string | undefined> => {
      if (!exists) return undefined;
      const known = trusted(await knowledge.recall(place.path.key));
      const limits = { clock: undefined, maxBytes: LIMITS.maxEditBytes, known };
      const snapshot = await readSnapshot(place, limits);
      return 'problem' in snapshot ? undefined : snapshot.fingerprint.sha256;
    };
    return world.workspace.at({ path, action: 'read' }, hash, () => undefined);
  }

  /**
   * Checks whether all of these changes may be made; see `Session.announce`. Call `settle` exactly
   * once for every announced change.
   */
  announce(
    intents: readonly HostIntent[],
    times?: ClientCall,
  ): Promise<Outcome<{ readonly change: string; readonly notices: readonly Notice[] }>> {
    return this.#gate.announcements.announce(intents, times === undefined ? {} : { times });
  }

  /** Ends an announced change: the other server has answered, or never will. */
  settle(change: string, ending: ChangeEnding): Witnessed {
    return this.#gate.announcements.settle(change, ending);
  }

  /**
   * Records what the other server showed or ran. A read with `content` records that text instead of
   * the file on disk. If the two differ, later changes of the file are refused as STALE. If
   * the text was only guessed to be the file's, only the lines count that it contains.
   */
  async witness(event: WitnessEvent | ListingEvent | LookEvent | ReadEvent, times?: ClientCall): Witnessed {
    if (event.kind === 'list') {
      const list = () => this.#session.list(event.path, { limit: MAX_LISTED });
      const listed = await this.#session.inCall(times, list);
      return listed.ok ? { ok: true, notices: [] } : listed;
    }
    if (event.kind === 'look') {
      const text = countOf(event.shown === '' ? 0 : event.shown.split('\n').length, 'line');
      await recordLook(this.#scene.world, this.#scene.knowledge, { ...event, action: 'search', text });
      return { ok: true, notices: [] };
    }
    if (event.kind === 'read') return this.#gate.shown(event, times);
    return witness(this.#scene.world, this.#scene.knowledge, event);
  }

  /** Records the output of a command. Output lines that equal lines of the file count as seen. */
  async witnessOutput(shown: Parameters<typeof witnessOutput>[1]): Promise<void> {
    if (await witnessOutput(this.#scene, shown)) this.#gate.refusals.reset(shown.path);
  }

  /**
   * Records that a command such as `echo` wrote `content`, which the command's text contains, into
   * this file. If the file holds exactly `content`, it counts as seen.
   */
  async witnessWritten(path: string, content: string): Promise<void> {
    const resolved = this.#scene.world.workspace.resolve(path, 'status');
    if (!resolved.ok) return;
    if (await showsWhole(this.#scene, { path, key: resolved.path.key }, Buffer.from(content, 'utf8')))
      this.#gate.refusals.reset(path);
  }

  /** The reason why only the user may make this change outside the workspace; undefined if there is none. */
  guardOutside(intent: HostIntent): Promise<string | undefined> {
    return guardOutside(this.#scene.world, intent);
  }

  /** True if a client's settings file, or a file in a client's folder, holds entries of Lookfirst. */
  holdsOurs(path: string): Promise<boolean> {
    return holdsOurs(this.#scene.world, path);
  }

  /** True if `mask` may change texts. */
  get masks(): boolean {
    return this.#scene.world.policy.secrets !== 'show';
  }

  /** Masks secrets in the texts of another server's answer, as the policy says. */
  async mask(
    texts: readonly string[],
    content: Parameters<typeof maskAnswer>[2],
  ): Promise<readonly string[]> {
    return this.masks ? maskAnswer(this.#scene.world, texts, content) : texts;
  }

  /**
   * Call this after the model's context was summarised: shown lines then no longer count, unless
   * the policy keeps them.
   */
  compacted(): Promise<void> {
    return this.#session.compacted();
  }

  beginTurn(mark: TurnMark): Promise<void> {
    return this.#session.beginTurn(mark);
  }

  /** Writes one sentence into the journal. */
  async note(text: string): Promise<void> {
    const { world, knowledge } = this.#scene;
    await world.store.record({ entries: [{ kind: 'notice', ...entryHead(world, knowledge), text }] });
  }

  status(path?: string): Promise<Outcome<StatusResult>> {
    return this.#session.status(path);
  }
}

/**
 * The key of a path. Refuses a path that the policy forbids for this action, and a FIFO, socket or
 * device. Does not open the file.
 */
function hostLocate(world: World, path: string, action: Action): Outcome<{ readonly key: string }> {
  const found = world.workspace.resolve(path, action);
  if (!found.ok) return found;
  const kind = found.exists ? kindOf(found.stats) : undefined;
  if (kind !== undefined && NOT_FOR_READING.has(kind))
    return refused({ code: 'NOT_A_FILE', action, path, next: 'other_path', detail: { kind } });
  const isRead = action === 'read' && kind === 'file';
  const isRefused = isRead && world.policy.secrets === 'refuse';
  const secret = isRefused ? secretRefusal(path, found.path.relative) : undefined;
  if (secret !== undefined) return refused(secret);
  return { ok: true, key: found.path.key };
}

/**
 * The path with its names spelled as on disk. A missing name is replaced by the name on disk that
 * differs from it only in its Unicode form. If several names on disk match, returns the missing
 * name unchanged.
 */
function pathOnDisk(world: World, path: string): string {
  let found = path;
  for (;;) {
    const next = nextOnDisk(world, found);
    if (next === undefined) return found;
    found = next;
  }
}

/**
 * The path with its first missing name replaced by the name on disk. Undefined if nothing is missing or no name
 * matches.
 */
function nextOnDisk(world: World, path: string): string | undefined {
  const look = (located: Located): string | undefined => {
    if (located.exists) return undefined;
    const [wanted = '', ...rest] = located.missing;
    const same = listUnsorted(located.place.dir).filter(
      ({ name }) => name.normalize('NFC') === wanted.normalize('NFC'),
    );
    const [only] = same;
    // Keep the path if no name or several names match, or if the exact name was created meanwhile.
    if (only === undefined || same.length > 1 || only.name === wanted) return undefined;
    const parts = located.place.path.absolute.split('/').slice(0, -located.missing.length);
    return [...parts, only.name, ...rest].join('/');
  };
  return world.workspace.atOnce({ path, action: 'read' }, look, () => undefined);
}
