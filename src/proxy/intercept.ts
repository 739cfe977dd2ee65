import type { ServerTable } from '../dialect/calls/table.ts';
import { Fault } from '../model/fault.ts';
import type { ForeignPlace, ForeignSession } from '../model/foreign-session.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { errorLine, INVALID_REQUEST, rpcMeta } from '../wire/rpc.ts';
import { Aftermath } from './aftermath.ts';
import { faultLine, refusalLine } from './answers.ts';
import { hashesBefore, idOfRequest, newCall, type ProxyCall } from './call.ts';
import { fileAddress, fileListOf, leaveOut, movedRefusal, readIncoming, readResource } from './incoming.ts';
import { type InterceptOptions, inWords } from './intercept-options.ts';
import { withRevision } from './receipt-tools.ts';
import type { Received, Wire } from './received.ts';
import {
  actionAt,
  type CallMeaning,
  callIntents,
  callPaths,
  changes,
  commandOf,
  givenPaths,
  reads,
  unproven,
} from './understand.ts';
import { readOnlyRefusal, unknownToolRefusal } from './unknown-refusal.ts';
import type { UpstreamPaths } from './upstream-paths.ts';

const ASCII = /^[\0-\x7f]*$/;
/** Matches ASCII texts without `;`, `K` and the backtick, which have a second form in Unicode. */
const UNMISTAKABLE = /^[\0-:<-JL-_a-\x7f]*$/;

/**
 * The gate for tool calls: checks each call, forwards it or answers it itself, and records its
 * result. From the check to the answer, no other call can change the same file. Other processes
 * still can (see LIMITS.md).
 */
export class Intercept {
  readonly #options: InterceptOptions;
  readonly #wire: Wire;
  readonly #calls = new Map<string, ProxyCall>();
  readonly #aftermath: Aftermath;
  readonly #upstreamPaths: UpstreamPaths;
  /** Makes calls queue in the order they arrive, however long it takes to locate their files. */
  #arrivals: Promise<unknown> = Promise.resolve();
  #arriving = 0;
  readonly #underWay = new Set<Promise<void>>();
  /** Session events (a compaction, a new turn) to apply. The next call retries a failed one. */
  #unreported: (() => Promise<void>)[] = [];

  constructor(options: InterceptOptions, wire: Wire, upstreamPaths: UpstreamPaths) {
    this.#options = options;
    this.#wire = wire;
    this.#aftermath = new Aftermath(options, wire);
    this.#upstreamPaths = upstreamPaths;
  }

  /**
   * Handles a `tools/call`: forwards it, now or later, or answers it. Drops a call without an id,
   * which cannot be answered.
   */
  call(given: Buffer, asked: JsonRecord): void {
    const ids = idOfRequest(given, asked);
    if (ids === undefined) {
      this.#options.log('a tools/call without an id was dropped');
      return;
    }
    if (this.#calls.has(ids.key)) {
      this.#wire.toClient(
        errorLine(ids.id, INVALID_REQUEST, 'another request with this id is still running'),
      );
      return;
    }
    const read = readIncoming(this.#options, this.#upstreamPaths, { line: given, message: asked });
    const { meaning } = read;
    const isProven = !meaning.guessed || !this.#options.needsProof;
    if (meaning.touches.length === 0 && !meaning.unexplained && isProven) {
      this.#wire.toUpstream(read.line);
      return;
    }
    const call = newCall({ ...ids, ...read });
    this.#calls.set(call.key, call);
    if (!this.#passesAtOnce(call)) this.#track(this.#handle(call));
  }

  /** Handles a `resources/read` of a `file:` URL, which must be inside the workspace like any other read. */
  resource(line: Buffer, message: JsonRecord): void {
    const uri = fileAddress(message);
    if (uri === undefined) this.#wire.toUpstream(line);
    else this.#track(readResource(this.#options, this.#wire, { line, message, uri }));
  }

  /** Applies a session event (a compaction, a new turn) before any later call is judged. */
  report(meta: JsonRecord, apply: (session: ForeignSession) => Promise<void>): void {
    this.#unreported.push(async () => {
      // Record the reads that were answered before the event: they belong to the earlier
      // conversation.
      await this.#aftermath.drain();
      const session = await this.#options.session(meta);
      await apply(session);
      session.ended?.();
    });
    this.#arriving++;
    const reported = this.#arrivals.then(() => this.#reportAll());
    this.#arrivals = reported.then(
      () => this.#arriving--,
      () => this.#arriving--,
    );
    this.#track(reported);
  }

  async #reportAll(): Promise<void> {
    for (let [next] = this.#unreported; next !== undefined; [next] = this.#unreported) {
      await next();
      this.#unreported.shift();
    }
  }

  /** Drops a cancelled call that was not forwarded yet. The outcome of a forwarded one counts as unknown. */
  cancelled(key: string): void {
    const call = this.#calls.get(key);
    if (call === undefined) return;
    if (call.stage === 'waiting') call.stage = 'over';
    if (call.stage === 'sent') this.#abandon(call);
  }

  /** Resolves when no call is being judged or recorded. The upstream may still owe answers. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    await this.#aftermath.drain();
  }

  get unanswered(): number {
    return this.#calls.size;
  }

  /** Ends all calls after the upstream has ended. Their changes may or may not have happened. */
  async close(): Promise<void> {
    for (const call of this.#calls.values()) this.cancelled(call.key);
    await this.idle();
  }

  /** The fast path: forwards a call synchronously if it changes nothing and its files are located and free. */
  #passesAtOnce(call: ProxyCall): boolean {
    const { meaning } = call;
    if (this.#arriving > 0 || this.#unreported.length > 0 || meaning.unexplained) return false;
    // The paths of a guess are checked on disk.
    if (meaning.guessed || changes(meaning) || unproven(meaning).length > 0) return false;
    if (mayDifferOnDisk(meaning, this.#options.catalogue.table)) return false;
    const session = this.#options.session(rpcMeta(call.message));
    if (session instanceof Promise) return false;
    const found = keysOf(call, session);
    if ('instead' in found) return false;
    const { keys } = found;
    const release = this.#options.shared.turns.takeNow(reads(meaning) ? keys : []);
    if (release === undefined) return false;
    call.session = session;
    call.keys = keys;
    call.release = release;
    this.#forward(call);
    return true;
  }

  async #handle(call: ProxyCall): Promise<void> {
    try {
      const refusal = await this.#admit(call);
      if (refusal !== undefined) this.#refuse(call, refusal);
      else await this.#send(call);
    } catch (error) {
      this.#options.log(`refused ${call.tool}, because the check failed: ${String(error)}`);
      if (call.stage !== 'over')
        this.#wire.toClient(faultLine(call, error instanceof Fault ? error : undefined));
      await this.#settleUnsent(call).catch((again) => this.#options.log(String(again)));
      this.#finish(call);
    }
  }

  /**
   * Waits until the call may use its files, or returns the reason why it may not. Reserves the
   * call's place in the queue synchronously.
   */
  async #admit(call: ProxyCall): Promise<Refusal | undefined> {
    this.#arriving++;
    const found = this.#arrivals.then(() => this.#arrive(call));
    this.#arrivals = found.then(
      () => this.#arriving--,
      () => this.#arriving--,
    );
    const { refusal, turn } = await found;
    if (turn !== undefined) {
      const [release, ended] = [await turn, call.release];
      call.release = () => {
        release();
        ended();
      };
    }
    return refusal;
  }

  /** Finds the call's session and files, and joins the queues of the files. Or returns a refusal. */
  async #arrive(
    call: ProxyCall,
  ): Promise<{ readonly refusal?: Refusal | undefined; readonly turn?: Promise<() => void> }> {
    await this.#reportAll();
    const session = await this.#options.session(rpcMeta(call.message));
    call.session = session;
    if (session.ended !== undefined) call.release = session.ended;
    const refusal = await judgeUnexplained(this.#options, call, session);
    if (refusal !== undefined) return { refusal };
    if (mayDifferOnDisk(call.meaning, this.#options.catalogue.table))
      call.meaning = withPathsOnDisk(call.meaning, session);
    const { meaning } = call;
    const stopped = await locateAll(call, session);
    if (stopped !== undefined) return { refusal: stopped };
    const { keys } = call;
    const alone = changes(meaning);
    if (alone) void this.#aftermath.drain();
    const mode = alone ? 'alone' : 'together';
    return { turn: this.#options.shared.turns.take(alone || reads(meaning) ? keys : [], mode) };
  }

  /** Checks the call's changes. Forwards the call, or answers it with the refusal. */
  async #send(call: ProxyCall): Promise<void> {
    const intents = withRevision(callIntents(call.meaning), call.revision);
    // Record earlier reads before this call is judged: a change is checked against the lines seen,
    // and the effect of a command is found by comparing the seen files with the disk.
    if (intents.length > 0 || call.meaning.unexplained) await this.#aftermath.drain();
    if (call.stage === 'waiting' && intents.length > 0 && call.session !== undefined) {
      const prepared = await call.session.announce(intents, call.times, call.tool);
      if (!prepared.ok) return this.#refuse(call, prepared.refusal);
      call.change = prepared.change;
      const { straightened: count } = call;
      const straightened: readonly Notice[] = count === 0 ? [] : [{ kind: 'quotes-straightened', count }];
      call.notices = [...prepared.notices, ...straightened];
    }
    call.before = await hashesBefore(call);
    if (call.pathsVersion !== undefined && call.pathsVersion !== this.#upstreamPaths.version) {
      await this.#settleUnsent(call);
      return this.#refuse(call, movedRefusal(call));
    }
    // If the call was cancelled while it was judged, do not forward it.
    if (call.stage === 'over') {
      await this.#settleUnsent(call);
      return this.#finish(call);
    }
    this.#forward(call);
  }

  #forward(call: ProxyCall): void {
    if (!this.#aftermath.awaits(call)) this.#finish(call);
    else {
      call.stage = 'sent';
      const take = (received: Received): void => this.#answered(call, received);
      this.#wire.expect(call.key, { holds: this.#aftermath.holds(call), take });
    }
    this.#wire.toUpstream(call.line);
  }

  #answered(call: ProxyCall, received: Received): void {
    call.stage = 'over';
    this.#calls.delete(call.key);
    const work = this.#aftermath.of(call, received);
    if (work !== undefined) this.#track(work);
  }

  #abandon(call: ProxyCall): void {
    call.stage = 'over';
    this.#wire.forget(call.key);
    this.#calls.delete(call.key);
    this.#track(this.#aftermath.unanswered(call));
  }

  async #settleUnsent(call: ProxyCall): Promise<void> {
    const { change } = call;
    call.change = undefined;
    if (change !== undefined) await call.session?.settle(change, 'failed');
  }

  #refuse(call: ProxyCall, refusal: Refusal): void {
    if (call.stage !== 'over') {
      const line = refusalLine(call, refusal, inWords(refusal, this.#options, call));
      if (this.#wire.toClient(line)) call.times.answeredAt = performance.now();
    }
    this.#finish(call);
  }

  #finish(call: ProxyCall): void {
    call.stage = 'over';
    this.#calls.delete(call.key);
    call.release();
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error) => this.#options.log(String(error)))
      .finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }
}

/** Locates a path at most once per call, because each refused try adds an entry to the journal. */
function locate(
  call: ProxyCall,
  session: ForeignSession,
  path: string,
): ForeignPlace | Promise<ForeignPlace> {
  const known = call.located.get(path);
  if (known !== undefined) return known;
  const located = session.locate(path, actionAt(call.meaning, path));
  call.located.set(path, located);
  return located;
}

/**
 * Finds the files of a call. Removes refused files from the call's list of files to read. Returns a
 * refusal if there is no such list, or if no file would be left.
 */
async function locateAll(call: ProxyCall, session: ForeignSession): Promise<Refusal | undefined> {
  const { meaning } = call;
  const keys: string[] = [];
  const refused = new Map<string, Refusal>();
  let list: string | undefined;
  for (const given of givenPaths(meaning)) {
    const located = await locate(call, session, meaning.place(given));
    if (located.ok) keys.push(located.key);
    else {
      list ??= fileListOf(call);
      if (list === undefined) return located.refusal;
      refused.set(given, located.refusal);
    }
  }
  call.keys = keys;
  const [first] = refused.values();
  return list === undefined || leaveOut(call, list, refused) ? undefined : first;
}

/**
 * The keys of all files of a call. If a file is refused or cannot be located synchronously, returns
 * instead the result of `locate` for that file.
 */
function keysOf(
  call: ProxyCall,
  session: ForeignSession,
): { readonly keys: readonly string[] } | { readonly instead: ForeignPlace | Promise<ForeignPlace> } {
  const keys: string[] = [];
  for (const path of callPaths(call.meaning)) {
    const located = locate(call, session, path);
    if (located instanceof Promise || !located.ok) return { instead: located };
    keys.push(located.key);
  }
  return { keys };
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
function withPathsOnDisk(meaning: CallMeaning, session: ForeignSession): CallMeaning {
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
  options: Pick<InterceptOptions, 'unknownTools' | 'needsProof' | 'catalogue' | 'shared'>,
  call: ProxyCall,
  session: ForeignSession,
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
