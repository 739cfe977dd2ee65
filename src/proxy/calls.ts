import type { ServerTable } from '../dialect/calls/table.ts';
import { Fault } from '../model/fault.ts';
import type { HostPlace, HostSession } from '../model/host-session.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { errorLine, INVALID_REQUEST, idKey, lineOf, rpcMeta } from '../wire/rpc.ts';
import { passAnswer, recordNoAnswer } from './answer-record.ts';
import { faultLine, refusalLine } from './answers.ts';
import { type AdmittedCall, type ProxyCall, readProxyCall, type Wire } from './call.ts';
import type { GateSettings } from './gate-settings.ts';
import { withoutFiles } from './left-out.ts';
import { withRevision } from './receipt-tools.ts';
import { inWords } from './refusal-words.ts';
import {
  actionAt,
  type CallMeaning,
  callIntents,
  callPaths,
  changes,
  commandOf,
  givenPaths,
  isRecorded,
  reads,
  unproven,
} from './understand.ts';
import { readOnlyRefusal, unknownToolRefusal } from './unknown-refusal.ts';

const ASCII = /^[\0-\x7f]*$/;
/** Matches ASCII texts without `;`, `K` and the backtick, which have a second form in Unicode. */
const UNMISTAKABLE = /^[\0-:<-JL-_a-\x7f]*$/;

/** A call in the queues of its files: `turn` resolves when the call may use them. */
interface Queued {
  readonly call: AdmittedCall;
  readonly turn: Promise<() => void>;
}

/**
 * Judges tool calls. Each is one run of `#run`: it is admitted, announced, forwarded, recorded and
 * answered. From the check to the answer, no other call can change the same file. Other processes
 * still can (see LIMITS.md).
 */
export class JudgedCalls {
  readonly #settings: GateSettings;
  readonly #wire: Wire;
  /** The calls that are being judged or answered, by the JSON text of their ids. */
  readonly #running = new Map<string, AbortController>();
  /** Makes calls queue in the order they arrive, however long it takes to locate their files. */
  #arrivals: Promise<unknown> = Promise.resolve();
  /** Session events (a compaction, a new turn) to apply. The next call retries a failed one. */
  #unreported: (() => Promise<void>)[] = [];
  readonly #work = new Work();

  constructor(settings: GateSettings, wire: Wire) {
    this.#settings = settings;
    this.#wire = wire;
  }

  /** Handles a `tools/call`. Drops a call without an id, which cannot be answered. */
  take(message: JsonRecord): void {
    const id = idKey(message['id']);
    if (id === undefined) {
      this.#settings.log('a tools/call without an id was dropped');
      return;
    }
    if (this.#running.has(id)) {
      this.#wire.toClient(errorLine(id, INVALID_REQUEST, 'another request with this id is still running'));
      return;
    }
    const call = readProxyCall(this.#settings, { id, message });
    const { meaning } = call;
    const isProven = !meaning.guessed || !this.#settings.needsProof;
    if (meaning.touches.length === 0 && !meaning.unexplained && isProven)
      this.#wire.toUpstream(lineOf(call.message));
    else this.track(this.#run(call));
  }

  /** Applies a session event (a compaction, a new turn) before any later call is judged. */
  report(meta: JsonRecord, apply: (session: HostSession) => Promise<void>): void {
    this.#unreported.push(async () => {
      // The reads that were answered before the event belong to the earlier conversation.
      await this.#settings.shared.recordings.all();
      const session = await this.#settings.session(meta);
      await apply(session);
      session.ended?.();
    });
    this.track(this.#inOrder(() => this.#reportAll()));
  }

  /**
   * Ends a call that the client has cancelled. One that was not forwarded yet is dropped; the
   * outcome of a forwarded one counts as unknown.
   */
  cancelled(id: string): void {
    this.#running.get(id)?.abort();
  }

  /** Makes `idle` wait for this work. Logs its failure. */
  track(work: Promise<void>): void {
    this.#work.begin();
    void work.catch((error) => this.#settings.log(String(error))).finally(() => this.#work.end());
  }

  /** Resolves when no call is being judged or recorded. The server may still owe answers. */
  idle(): Promise<void> {
    return this.#work.over();
  }

  /** The number of calls that are not answered yet. */
  get unanswered(): number {
    return this.#running.size;
  }

  /** Ends all calls after the server has ended. Their changes may or may not have happened. */
  async close(): Promise<void> {
    for (const id of this.#running.keys()) this.cancelled(id);
    await this.idle();
  }

  async #run(call: ProxyCall): Promise<void> {
    const ended = new AbortController();
    this.#running.set(call.id, ended);
    const held: Held = [];
    try {
      const admitted = await this.#admit(call, held);
      const refusal = admitted.ok ? await this.#forward(admitted.call, ended.signal) : admitted.refusal;
      if (refusal !== undefined && !ended.signal.aborted)
        this.#reply(call, refusalLine(call, refusal, inWords(refusal, this.#settings, call)));
    } catch (error) {
      this.#settings.log(`refused ${call.tool}, because the check failed: ${String(error)}`);
      if (!ended.signal.aborted)
        this.#reply(call, faultLine(call, error instanceof Fault ? error : undefined));
    } finally {
      for (const release of held) release();
      this.#running.delete(call.id);
    }
  }

  /** Waits until the call may use its files, or returns the reason why it may not. */
  async #admit(call: ProxyCall, held: Held): Promise<Outcome<{ readonly call: AdmittedCall }>> {
    const queued = await this.#inOrder(() => this.#queue(call, held));
    if (queued.ok) held.push(await queued.turn);
    return queued;
  }

  /** Finds the call's session and files, and joins the queues of the files. */
  async #queue(given: ProxyCall, held: Held): Promise<Outcome<Queued>> {
    const { catalogue, shared } = this.#settings;
    await this.#reportAll();
    const session = await this.#settings.session(rpcMeta(given.message));
    if (session.ended !== undefined) held.push(session.ended);
    const unexplained = await judgeUnexplained(this.#settings, given, session);
    if (unexplained !== undefined) return { ok: false, refusal: unexplained };
    const meaning = mayDifferOnDisk(given.meaning, catalogue.table)
      ? withPathsOnDisk(given.meaning, session)
      : given.meaning;
    const located = await locateAll({ ...given, meaning }, session);
    if (!located.ok) return located;
    const { keys, call } = located;
    const alone = changes(call.meaning);
    const turn = shared.turns.take(alone || reads(call.meaning) ? keys : [], alone ? 'alone' : 'together');
    return { ok: true, call, turn };
  }

  /** Announces the call's changes, forwards it, records the answer and passes that on. Or returns the refusal. */
  async #forward(call: AdmittedCall, signal: AbortSignal): Promise<Refusal | undefined> {
    const { session, meaning } = call;
    const before = await hashesBefore(call);
    const intents = withRevision(callIntents(meaning), call.revision);
    // A change is checked against the lines seen, and the effect of a command is found by comparing
    // the seen files with the disk.
    if (intents.length > 0 || meaning.unexplained) await this.#settings.shared.recordings.all();
    if (signal.aborted) return undefined;
    const announced = intents.length === 0 ? NO_CHANGE : await session.announce(intents, call.times);
    if (!announced.ok) return announced.refusal;
    const { change } = announced;
    if (signal.aborted) {
      if (change !== undefined) await session.settle(change, 'failed');
      return undefined;
    }
    const line = lineOf(call.message);
    if (!isRecorded(meaning)) {
      this.#wire.toUpstream(line);
      return undefined;
    }
    const answer = await this.#work.pausedFor(this.#wire.ask(call.id, line, signal));
    const forwarded = { ...call, change, before, notices: noticesOf(call, announced.notices) };
    const reply = (given: Buffer): void => this.#reply(call, given);
    if (answer === undefined) await recordNoAnswer(forwarded);
    else await passAnswer(this.#settings, forwarded, { answer, reply });
    return undefined;
  }

  /** Sends an answer. If the client does not get it, the lines in it do not count as seen. */
  #reply(call: ProxyCall, line: Buffer): void {
    if (this.#wire.toClient(line)) call.times.answered();
  }

  async #reportAll(): Promise<void> {
    for (let [next] = this.#unreported; next !== undefined; [next] = this.#unreported) {
      await next();
      this.#unreported.shift();
    }
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#arrivals.then(work);
    this.#arrivals = done.catch(() => {});
    return done;
  }
}

const NO_CHANGE: {
  readonly ok: true;
  readonly change: string | undefined;
  readonly notices: readonly Notice[];
} = { ok: true, change: undefined, notices: [] };

/** Ends what a call holds: its turn at its files, and a session that was opened for it. */
type Held = (() => void)[];

/** Counts pieces of work, so that a caller can wait until none is left. */
class Work {
  #open = 0;
  #onEnd: (() => void)[] = [];

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) for (const act of this.#onEnd.splice(0)) act();
  }

  /** Waits for a promise inside a piece of work that does not count meanwhile. */
  async pausedFor<T>(promise: Promise<T>): Promise<T> {
    this.end();
    try {
      return await promise;
    } finally {
      this.begin();
    }
  }

  over(): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onEnd.push(resolve));
  }
}

function noticesOf({ straightened: count }: ProxyCall, notices: readonly Notice[]): readonly Notice[] {
  return count === 0 ? notices : [...notices, { kind: 'quotes-straightened', count }];
}

/** Hashes the files of a call's unproven reads; see `ForwardedCall.before`. */
async function hashesBefore({
  meaning,
  session,
}: AdmittedCall): Promise<ReadonlyMap<string, string | undefined>> {
  const hashes = new Map<string, string | undefined>();
  for (const path of unproven(meaning)) hashes.set(path, await session.hashOf(path));
  return hashes;
}

/**
 * Finds the files of a call. Removes refused files from the call's list of files to read. Returns a
 * refusal if there is no such list, or if no file would be left.
 */
async function locateAll(
  call: ProxyCall,
  session: HostSession,
): Promise<Outcome<{ readonly call: AdmittedCall; readonly keys: readonly string[] }>> {
  const { meaning } = call;
  const located = new Map<string, HostPlace>();
  const keys: string[] = [];
  const refused = new Map<string, Refusal>();
  for (const given of givenPaths(meaning)) {
    const path = meaning.place(given);
    // Each refused try adds an entry to the journal, so locate a path once.
    const place = located.get(path) ?? (await session.locate(path, actionAt(meaning, path)));
    located.set(path, place);
    if (place.ok) keys.push(place.key);
    else refused.set(given, place.refusal);
  }
  const [first] = refused.values();
  if (first === undefined) return { ok: true, keys, call: { ...call, session, leftOut: refused } };
  const rest = withoutFiles(call, refused);
  if (rest === undefined) return { ok: false, refusal: first };
  return { ok: true, keys, call: { ...rest, session, leftOut: refused } };
}

/**
 * True if the upstream may open a file whose name differs from the given one in its Unicode form.
 * For a change, this includes names with `K`: the file's name may contain the Kelvin sign instead.
 */
function mayDifferOnDisk(meaning: CallMeaning, table: ServerTable | undefined): boolean {
  if (table?.equalNames !== true || meaning.guessed) return false;
  const plain = changes(meaning) ? UNMISTAKABLE : ASCII;
  return !givenPaths(meaning).every((path) => plain.test(path));
}

/** The call, with each path spelled as the file's name on disk. */
function withPathsOnDisk(meaning: CallMeaning, session: HostSession): CallMeaning {
  const onDisk = new Map<string, string>();
  for (const path of callPaths(meaning)) onDisk.set(path, session.pathOnDisk(path));
  const place = (path: string): string => {
    const placed = meaning.place(path);
    return onDisk.get(placed) ?? placed;
  };
  return { ...meaning, place };
}

/**
 * Decides about a call with unknown effects, and records the decision in the journal. Refuses the
 * call if the session is read-only, or if the policy for unknown tools says so. Returns undefined
 * if the call is allowed or its effects are known.
 */
async function judgeUnexplained(
  options: Pick<GateSettings, 'unknownTools' | 'needsProof' | 'catalogue' | 'shared'>,
  call: ProxyCall,
  session: HostSession,
): Promise<Refusal | undefined> {
  const { unknownTools, catalogue, shared } = options;
  const { meaning, tool } = call;
  const isUnproven = meaning.guessed && options.needsProof;
  const what = commandOf(meaning, tool) ?? (isUnproven ? tool : undefined);
  if (what === undefined) return undefined;
  const through =
    !session.readOnly &&
    (unknownTools === 'allow' ||
      (unknownTools === 'ask' && shared.asked.again(session.id, call.tool, call.args)));
  const done = through ? 'let through' : 'refused';
  await session.note(`${done}: ${what} of ${catalogue.serverName}; its effects on files are unknown`);
  if (through) return undefined;
  return session.readOnly ? readOnlyRefusal(call.tool) : unknownToolRefusal(call.tool, unknownTools);
}
