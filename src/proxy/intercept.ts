import type { ServerTable } from '../dialect/calls/table.ts';
import { Fault } from '../model/fault.ts';
import type { ForeignSession, Located } from '../model/foreign-session.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { Aftermath } from './aftermath.ts';
import { faultLine, refusalLine } from './answers.ts';
import type { Bearings } from './bearings.ts';
import { type Call, idOfRequest, newCall } from './call.ts';
import { movedRefusal, readCall } from './incoming.ts';
import { type InterceptOptions, inWords } from './intercept-options.ts';
import { withRevision } from './receipt-tools.ts';
import type { Received } from './received.ts';
import { fileAddress, readResource } from './resources.ts';
import { errorLine, INVALID_REQUEST, metaOf } from './rpc.ts';
import {
  actionAt,
  changes,
  commandOf,
  givenPaths,
  intentsOf,
  pathsOf,
  reads,
  type Understanding,
} from './understand.ts';
import { readOnlyRefusal, unknownToolRefusal } from './unknown-refusal.ts';
import type { Wire } from './wire.ts';

const ASCII = /^[\0-\x7f]*$/;
/** What no sign outside of ASCII is the same as. */
const UNMISTAKABLE = /^[\0-:<-JL-_a-\x7f]*$/;

/**
 * Stands before every tool call: vets it, lets it pass unchanged or answers it itself, and notes what came of it.
 * Check, forward and answer are one turn per file; calls that only read share it. Another process that writes the same
 * file in between is not shut out: the upstream's own race stays (see LIMITS.md).
 */
export class Intercept {
  readonly #options: InterceptOptions;
  readonly #wire: Wire;
  readonly #calls = new Map<string, Call>();
  readonly #aftermath: Aftermath;
  readonly #bearings: Bearings;
  /** Calls take their places in the order they came, however long it takes to find their files. */
  #arrivals: Promise<unknown> = Promise.resolve();
  #arriving = 0;
  readonly #underWay = new Set<Promise<void>>();
  /** What happened in conversations and is not in their sessions yet. A failed one is tried again by the next call. */
  #unreported: (() => Promise<void>)[] = [];

  constructor(options: InterceptOptions, wire: Wire, bearings: Bearings) {
    this.#options = options;
    this.#wire = wire;
    this.#aftermath = new Aftermath(options, wire);
    this.#bearings = bearings;
  }

  /** Takes a `tools/call`; it is forwarded, now or later, or answered. One without an id cannot be answered, and is dropped. */
  call(given: Buffer, asked: JsonRecord): void {
    const ids = idOfRequest(given, asked);
    if (ids === undefined) {
      this.#options.log('a tools/call without an id was dropped');
      return;
    }
    if (this.#calls.has(ids.key)) {
      this.#wire.toClient(errorLine(ids.id, INVALID_REQUEST, 'this id is in use'));
      return;
    }
    const read = readCall(this.#options, this.#bearings, { line: given, message: asked });
    const { understanding } = read;
    if (understanding.touches.length === 0 && !understanding.unexplained && !understanding.guessed) {
      this.#wire.toUpstream(read.line);
      return;
    }
    const call = newCall({ ...ids, ...read });
    this.#calls.set(call.key, call);
    if (!this.#passesAtOnce(call)) this.#track(this.#handle(call));
  }

  /** Takes a `resources/read` of a `file:` address: kept inside like any other read. */
  resource(line: Buffer, message: JsonRecord): void {
    const uri = fileAddress(message);
    if (uri === undefined) this.#wire.toUpstream(line);
    else this.#track(readResource(this.#options, this.#wire, { line, message, uri }));
  }

  /** Applies what a message says about its conversation, before any call that comes later is judged. */
  report(meta: JsonRecord, apply: (session: ForeignSession) => Promise<void>): void {
    this.#unreported.push(async () => {
      // Reads that were answered before belong to the conversation as it was before.
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

  /** The client no longer wants an answer. A call that has not gone out yet never will. */
  cancelled(key: string): void {
    const call = this.#calls.get(key);
    if (call === undefined) return;
    if (call.stage === 'waiting') call.stage = 'over';
    if (call.stage === 'sent') this.#abandon(call);
  }

  /** Nothing is being judged or noted any more; what the upstream has may still be unanswered. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    await this.#aftermath.drain();
  }

  get unanswered(): number {
    return this.#calls.size;
  }

  /** The upstream is gone: what it was doing may or may not have happened. */
  async close(): Promise<void> {
    for (const call of this.#calls.values()) this.cancelled(call.key);
    await this.idle();
  }

  /** The common case without a detour: a call that changes nothing, whose files can be told and had right now. */
  #passesAtOnce(call: Call): boolean {
    const { understanding } = call;
    if (this.#arriving > 0 || this.#unreported.length > 0 || understanding.unexplained) return false;
    // A guess about files is checked against the disk first; a call that names none has nothing to check.
    if (understanding.guessed && understanding.touches.length > 0) return false;
    if (changes(understanding)) return false;
    if (mayBeRespelt(understanding, this.#options.catalogue.table)) return false;
    const session = this.#options.session(metaOf(call.message));
    if (session instanceof Promise) return false;
    const found = keysOf(call, session);
    if ('instead' in found) return false;
    const { keys } = found;
    const release = this.#options.shared.turns.takeNow(reads(understanding) ? keys : []);
    if (release === undefined) return false;
    call.session = session;
    call.keys = keys;
    call.release = release;
    this.#forward(call);
    return true;
  }

  async #handle(call: Call): Promise<void> {
    try {
      const refusal = await this.#admit(call);
      if (refusal !== undefined) this.#refuse(call, refusal);
      else await this.#send(call);
    } catch (error) {
      this.#options.log(`refused ${call.tool}, for the check failed: ${String(error)}`);
      if (call.stage !== 'over')
        this.#wire.toClient(faultLine(call, error instanceof Fault ? error : undefined));
      await this.#settleUnsent(call).catch((again) => this.#options.log(String(again)));
      this.#finish(call);
    }
  }

  /** Waits for a turn at the call's files. Its place among those that come is taken before this returns. */
  async #admit(call: Call): Promise<Refusal | undefined> {
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

  /** Finds the call's session and files, and queues for them. */
  async #arrive(
    call: Call,
  ): Promise<{ readonly refusal?: Refusal | undefined; readonly turn?: Promise<() => void> }> {
    await this.#reportAll();
    const session = await this.#options.session(metaOf(call.message));
    call.session = session;
    if (session.ended !== undefined) call.release = session.ended;
    const refusal = await judgeUnexplained(this.#options, call, session);
    if (refusal !== undefined) return { refusal };
    if (mayBeRespelt(call.understanding, this.#options.catalogue.table))
      call.understanding = respelt(call.understanding, session);
    const { understanding } = call;
    const keys: string[] = [];
    for (const path of pathsOf(understanding)) {
      const located = await locate(call, session, path);
      if (!located.ok) return { refusal: located.refusal };
      keys.push(located.key);
    }
    call.keys = keys;
    const alone = changes(understanding);
    if (alone) void this.#aftermath.drain();
    const mode = alone ? 'alone' : 'shared';
    return { turn: this.#options.shared.turns.take(alone || reads(understanding) ? keys : [], mode) };
  }

  /** Vets the call's changes and forwards it. */
  async #send(call: Call): Promise<void> {
    const intents = withRevision(intentsOf(call.understanding), call.revision);
    // What ran is told by what it left of the files that were seen: those must be noted before.
    if (intents.length > 0 || call.understanding.unexplained) await this.#aftermath.drain();
    if (call.stage === 'waiting' && intents.length > 0 && call.session !== undefined) {
      const prepared = await call.session.announce(intents, call.times, call.tool);
      if (!prepared.ok) return this.#refuse(call, prepared.refusal);
      call.change = prepared.change;
      const { straightened: count } = call;
      const straightened: readonly Notice[] = count === 0 ? [] : [{ kind: 'quotes-straightened', count }];
      call.notices = [...prepared.notices, ...straightened];
    }
    if (call.trusts !== undefined && call.trusts !== this.#bearings.edition) {
      await this.#settleUnsent(call);
      return this.#refuse(call, movedRefusal(call));
    }
    // Cancelled while it was being judged: it must not reach the upstream any more.
    if (call.stage === 'over') {
      await this.#settleUnsent(call);
      return this.#finish(call);
    }
    this.#forward(call);
  }

  #forward(call: Call): void {
    if (!this.#aftermath.awaits(call)) this.#finish(call);
    else {
      call.stage = 'sent';
      const take = (received: Received): void => this.#answered(call, received);
      this.#wire.expect(call.key, { holds: this.#aftermath.holds(call), take });
    }
    this.#wire.toUpstream(call.line);
  }

  #answered(call: Call, received: Received): void {
    call.stage = 'over';
    this.#calls.delete(call.key);
    const work = this.#aftermath.of(call, received);
    if (work !== undefined) this.#track(work);
  }

  #abandon(call: Call): void {
    call.stage = 'over';
    this.#wire.forget(call.key);
    this.#calls.delete(call.key);
    this.#track(this.#aftermath.unanswered(call));
  }

  async #settleUnsent(call: Call): Promise<void> {
    const { change } = call;
    call.change = undefined;
    if (change !== undefined) await call.session?.settle(change, 'failed');
  }

  #refuse(call: Call, refusal: Refusal): void {
    if (call.stage !== 'over') {
      this.#wire.toClient(refusalLine(call, refusal, inWords(refusal, this.#options, call.tool)));
      call.times.answeredAt = performance.now();
    }
    this.#finish(call);
  }

  #finish(call: Call): void {
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

/** Asks once for each path of a call: a refusal is journalled where it is given. */
function locate(call: Call, session: ForeignSession, path: string): Located | Promise<Located> {
  const known = call.located.get(path);
  if (known !== undefined) return known;
  const located = session.locate(path, actionAt(call.understanding, path));
  call.located.set(path, located);
  return located;
}

/** The keys of all files of a call, or what stands in the way of the first that may not be looked at, or not now. */
function keysOf(
  call: Call,
  session: ForeignSession,
): { readonly keys: readonly string[] } | { readonly instead: Located | Promise<Located> } {
  const keys: string[] = [];
  for (const path of pathsOf(call.understanding)) {
    const located = locate(call, session, path);
    if (located instanceof Promise || !located.ok) return { instead: located };
    keys.push(located.key);
  }
  return { keys };
}

/**
 * True when the upstream may open a file of a slightly other name. For a change a few signs of ASCII are asked about as
 * well: the sign for kelvin, say, is the same as the letter.
 */
function mayBeRespelt(understanding: Understanding, table: ServerTable | undefined): boolean {
  if (table?.equalNames !== true || understanding.guessed) return false;
  const plain = changes(understanding) ? UNMISTAKABLE : ASCII;
  return !givenPaths(understanding).every((path) => plain.test(path));
}

/** The same call, about the files as they are spelt on disk right now. */
function respelt(understanding: Understanding, session: ForeignSession): Understanding {
  const spelt = new Map<string, string>();
  for (const path of pathsOf(understanding)) spelt.set(path, session.spelt(path));
  const place = (path: string): string => {
    const placed = understanding.place(path);
    return spelt.get(placed) ?? placed;
  };
  return { ...understanding, place };
}

/**
 * Why a call whose effects nobody has described is refused: by the policy for unknown tools, or because nothing may be
 * changed. Undefined if nothing is against it, or if its effects are known. The journal says what became of it.
 */
async function judgeUnexplained(
  options: Pick<InterceptOptions, 'unknownTools' | 'catalogue' | 'shared'>,
  call: Call,
  session: ForeignSession,
): Promise<Refusal | undefined> {
  const { unknownTools, catalogue, shared } = options;
  const { understanding, tool } = call;
  // What a server says of its own tools is not proof: where nothing may be changed, a table must describe them.
  const isUnproven = understanding.guessed && (session.readOnly || unknownTools === 'deny');
  const what = commandOf(understanding, tool) ?? (isUnproven ? tool : undefined);
  if (what === undefined) return undefined;
  const through =
    !session.readOnly &&
    (unknownTools === 'allow' ||
      (unknownTools === 'ask' && shared.asked.again(session.id, call.tool, call.args)));
  const done = through ? 'let through' : 'refused';
  await session.note(`${done}: ${what} of ${catalogue.serverName}, which no table describes`);
  if (through) return undefined;
  return session.readOnly ? readOnlyRefusal(call.tool) : unknownToolRefusal(call.tool, unknownTools);
}
