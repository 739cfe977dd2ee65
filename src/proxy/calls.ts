import { mcpAnswer } from '../dialect/calls/answer.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import { looksOf } from '../dialect/calls/touch.ts';
import { Fault } from '../model/fault.ts';
import { defined, fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { Work } from '../model/waiting.ts';
import type { HostSession } from '../session/gated-session.ts';
import { errorLine, INTERNAL_ERROR, INVALID_REQUEST, idKey, lineOf, rpcMeta } from '../wire/rpc.ts';
import { answerEnding, faultLine, inWords, refusalLine, withNotices, withTextBlock } from './answers.ts';
import {
  actionAt,
  type CallMeaning,
  type ProxyCall,
  readProxyCall,
  spelledAsOnDisk,
  withoutFiles,
} from './call.ts';
import type { GateSettings } from './gate-settings.ts';
import { readOnlyRefusal, unknownToolRefusal } from './unknown-refusal.ts';

/** The two destinations of messages: the server behind the proxy (upstream) and the client. */
export interface Ends {
  toUpstream(line: Buffer): void;
  /** Returns false if the line is lost, because the client has disconnected. */
  toClient(line: Buffer): boolean;
}

/** The server's answer to a request: the message, and the line in which it arrived. */
export interface UpstreamAnswer {
  readonly line: Buffer;
  readonly message: JsonRecord;
}

/** The connections to the client and to the server, for the code that judges calls. */
interface Wire extends Ends {
  /**
   * Sends a request and waits for the server's answer. Resolves to undefined if the signal aborts
   * before that; a later answer goes to the client.
   */
  ask(id: string, line: Buffer, signal: AbortSignal): Promise<UpstreamAnswer | undefined>;
}

/** A call that may be forwarded. */
interface AdmittedCall extends ProxyCall {
  readonly session: HostSession;
  /**
   * The refusals of files that were left out of a call that reads several files. The keys are the
   * paths as the caller wrote them.
   */
  readonly leftOut: ReadonlyMap<string, Refusal>;
}

/** A call that the server has received. */
interface ForwardedCall extends AdmittedCall {
  /** The id of the call's change, which was announced in the store before the call was forwarded. */
  readonly change: string | undefined;
  readonly notices: readonly Notice[];
  /** SHA-256 of files before the call, by path; only of reads whose text may prove nothing. */
  readonly before: ReadonlyMap<string, string | undefined>;
}

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
  async idle(): Promise<void> {
    await this.#work.over();
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

  /** The life of a call: wait for its turn, announce its changes, ask the server, record and pass on the answer. */
  async #run(call: ProxyCall): Promise<void> {
    const ended = new AbortController();
    this.#running.set(call.id, ended);
    /** Ends what the call holds: its turn at its files, and a session that was opened for it. */
    const held: (() => void)[] = [];
    try {
      const queued = await this.#inOrder(() => this.#queue(call, held));
      if (queued.ok) held.push(await queued.turn);
      const refusal = queued.ok ? await this.#forward(queued.call, ended.signal) : queued.refusal;
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

  /** Finds the call's session and files, and joins the queues of the files. */
  async #queue(given: ProxyCall, held: (() => void)[]): Promise<Outcome<Queued>> {
    const { catalogue, shared } = this.#settings;
    await this.#reportAll();
    const session = await this.#settings.session(rpcMeta(given.message));
    if (session.ended !== undefined) held.push(session.ended);
    const unexplained = await judgeUnexplained(this.#settings, given, session);
    if (unexplained !== undefined) return { ok: false, refusal: unexplained };
    const meaning = spelledAsOnDisk(given.meaning, catalogue, session);
    const found = new Map<string, Awaited<ReturnType<HostSession['locate']>>>();
    const leftOut = new Map<string, Refusal>();
    const keys: string[] = [];
    for (const [path, placed] of meaning.places) {
      // Each refused try adds an entry to the journal, so locate a path once.
      const place = found.get(placed) ?? (await session.locate(placed, actionAt(meaning, placed)));
      found.set(placed, place);
      if (place.ok) keys.push(place.key);
      else leftOut.set(path, place.refusal);
    }
    const [refusal] = leftOut.values();
    let call: ProxyCall = { ...given, meaning };
    if (refusal !== undefined) {
      const rest = withoutFiles(call, leftOut);
      if (rest === undefined) return { ok: false, refusal };
      call = rest;
    }
    const { intents, reads } = call.meaning;
    const alone = intents.length > 0;
    const turn = shared.turns.take(alone || reads.length > 0 ? keys : [], alone ? 'alone' : 'together');
    return { ok: true, call: { ...call, session, leftOut }, turn };
  }

  /** Announces the call's changes, forwards it, and records and passes on the answer. Or returns the refusal. */
  async #forward(call: AdmittedCall, signal: AbortSignal): Promise<Refusal | undefined> {
    const { session, meaning } = call;
    const before = new Map<string, string | undefined>();
    for (const { path, shown } of meaning.reads)
      if (shown.as === 'found') {
        const place = placeOf(meaning, path);
        before.set(place, await session.hashOf(place));
      }
    const { intents } = meaning;
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
    // The wait for the server does not count as work.
    this.#work.end();
    const answer = await this.#wire.ask(call.id, line, signal).finally(() => this.#work.begin());
    const forwarded = { ...call, change, before, notices: noticesOf(call, announced.notices) };
    if (answer === undefined) await recordNoAnswer(forwarded);
    else await this.#answer(forwarded, answer);
    return undefined;
  }

  /**
   * Masks and records an answer, and passes it on. An answer that only shows lines of files, and to
   * which nothing is added, is passed on first: its recording needs no other text than its own.
   */
  async #answer(call: ForwardedCall, { message: original, line }: UpstreamAnswer): Promise<void> {
    const { log, shared } = this.#settings;
    const masked = await maskedResponse(call, original).catch((error: unknown) =>
      log(`the answer of ${call.tool} could not be masked: ${String(error)}`),
    );
    if (masked === undefined) {
      this.#reply(call, errorLine(call.id, INTERNAL_ERROR, 'The answer could not be checked for secrets.'));
      return recordNoAnswer(call);
    }
    const recorded = async (): Promise<void> => {
      try {
        await recordShown(call, { original, masked });
      } catch (error) {
        // Nothing counts as seen then, and the client gets the answer all the same.
        log(`${call.tool} could not be recorded: ${String(error)}`);
      }
    };
    if (call.leftOut.size === 0 && showsItself(call.meaning)) {
      this.#reply(call, masked === original ? line : lineOf(masked));
      return shared.recordings.add(recorded());
    }
    const notices = await this.#endChange(call, original);
    await recorded();
    const result = masked['result'];
    const isDone = isRecord(result) && answerEnding(masked) === 'done';
    const added = isDone ? this.#withAdditions(call, result, notices) : result;
    const isSame = masked === original && added === result;
    this.#reply(call, isSame ? line : lineOf(added === undefined ? masked : { ...masked, result: added }));
  }

  /** Settles the call's change by the server's answer. Returns the notices for the client. */
  async #endChange(call: ForwardedCall, response: JsonRecord): Promise<readonly Notice[]> {
    const { session, change, notices, tool } = call;
    if (change === undefined) return notices;
    try {
      const settled = await session.settle(change, answerEnding(response));
      return settled.ok ? [...notices, ...settled.notices] : notices;
    } catch (error) {
      // The server has already made the change, so the client must learn that, even if recording it failed.
      this.#settings.log(`${tool} was done, but could not be recorded: ${String(error)}`);
      return [{ kind: 'not-recorded' }];
    }
  }

  /** The result with what the client must know besides it: notices, or refusals of files that were left out. */
  #withAdditions(call: ForwardedCall, result: JsonRecord, notices: readonly Notice[]): JsonRecord {
    if (notices.length > 0) return withNotices(result, notices);
    const refused = [...call.leftOut].map(
      ([path, refusal]) => `${path}: Error - ${inWords(refusal, this.#settings, call)}`,
    );
    return withTextBlock(result, refused.join('\n---\n'));
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

function noticesOf({ straightened: count }: ProxyCall, notices: readonly Notice[]): readonly Notice[] {
  return count === 0 ? notices : [...notices, { kind: 'quotes-straightened', count }];
}

/** The file that the upstream opens for a path of the call. */
function placeOf({ places }: CallMeaning, path: string): string {
  return places.get(path) ?? path;
}

/** True if the answer to a call must be recorded: it shows a file or a folder, or the call may change one. */
function isRecorded({ touches, unexplained }: CallMeaning): boolean {
  return unexplained || touches.some(({ does }) => does !== 'run' && does !== 'unknown');
}

/** True if a call only reads files, and its answer is their text. */
function showsItself({ touches, reads, unexplained }: CallMeaning): boolean {
  return !unexplained && touches.length === reads.length;
}

/** Ends a call without a usable answer: it is unknown whether its change happened. */
async function recordNoAnswer({ session, change, meaning, times }: ForwardedCall): Promise<void> {
  if (change !== undefined) await session.settle(change, 'unknown');
  const { command } = meaning;
  if (command !== undefined) await session.witness({ kind: 'command', command }, times);
}

interface Responses {
  readonly original: JsonRecord;
  readonly masked: JsonRecord;
}

/**
 * Records commands, listings, reads and searches. Searches and similar calls only get a journal
 * entry.
 */
async function recordShown(call: ForwardedCall, { original, masked }: Responses): Promise<void> {
  const { session, meaning, times } = call;
  const { command, touches } = meaning;
  if (command !== undefined) await session.witness({ kind: 'command', command }, times);
  if (answerEnding(original) !== 'done') return;
  for (const touch of touches)
    if (touch.does === 'list')
      await session.witness({ kind: 'list', path: placeOf(meaning, touch.path) }, times);
  const shown = contentOf(original).texts?.join('\n') ?? '';
  for (const path of looksOf(touches))
    await session.witness({ kind: 'look', path: placeOf(meaning, path), shown });
  await recordReads(call, original, masked);
}

/** Compares the server's own text with the files, not the text with masks. */
async function recordReads(
  { session, meaning, times, before }: ForwardedCall,
  original: JsonRecord,
  masked: JsonRecord,
): Promise<void> {
  const { reads } = meaning;
  const redacted = masked === original ? undefined : redactedPaths(meaning, original, masked);
  for (const { path: given, isFound, ...shown } of shownLines(reads, contentOf(original))) {
    const { content, ranges, clamped, how } = shown;
    const path = placeOf(meaning, given);
    const event = {
      kind: 'read',
      path,
      ...defined({ content, ranges, clamped, how, redacted: redacted?.has(given) || undefined }),
      ...(before.has(path) ? { before: before.get(path), ...(isFound ? { guessed: true } : {}) } : {}),
    } as const;
    await session.witness(event, times);
  }
}

/** The response with secrets masked. Returns `response` itself if nothing is masked. */
async function maskedResponse(
  { session, meaning }: ForwardedCall,
  response: JsonRecord,
): Promise<JsonRecord> {
  if (!session.masks) return response;
  const texts: string[] = [];
  mapTexts(response, (text) => {
    texts.push(text);
    return text;
  });
  const shown = await session.mask(texts, kindOfContent(meaning));
  if (shown.every((text, index) => text === texts[index])) return response;
  let next = 0;
  return mapTexts(response, () => shown[next++] ?? '');
}

/** The paths of files of which the masked response shows less than the original one. */
function redactedPaths({ reads }: CallMeaning, original: unknown, masked: unknown): ReadonlySet<string> {
  const shownBy = (response: unknown) => shownLines(reads, contentOf(response));
  const texts = new Map(shownBy(masked).map(({ path, content }) => [path, content]));
  return new Set(
    shownBy(original).flatMap(({ path, content }) => (texts.get(path) === content ? [] : [path])),
  );
}

function kindOfContent(meaning: CallMeaning): Parameters<HostSession['mask']>[1] {
  const { touches, reads, intents, unexplained, places } = meaning;
  const [only] = reads;
  if (only !== undefined && touches.length === 1 && !unexplained) {
    const isWhole = only.asked === undefined && only.shown.as !== 'found';
    const extent = isWhole ? 'whole' : 'part';
    return { kind: 'file', path: placeOf(meaning, only.path), extent };
  }
  const isBound = !unexplained && touches.length === reads.length + intents.length;
  return { kind: isBound ? 'files' : 'output', paths: [...places.values()] };
}

/** Keys of values that are encoded bytes, not text. */
const ENCODED = new Set(['data', 'blob']);
/** Values of `type` in a block of content. */
const BLOCK_TYPES = new Set<unknown>(['text', 'image', 'audio', 'resource', 'resource_link']);

/** True if a field says what a block of content is, and is not content itself. */
function isForm(key: string, field: unknown): boolean {
  return key === 'mimeType' || (key === 'type' && BLOCK_TYPES.has(field));
}

/** A copy of a response with every text in its result or error replaced, in a fixed order. */
function mapTexts(response: JsonRecord, replace: (text: string) => string): JsonRecord {
  const inner = (value: unknown): unknown => {
    if (typeof value === 'string') return replace(value);
    if (Array.isArray(value)) return value.map(inner);
    if (!isRecord(value)) return value;
    const isEncoded = typeof value['mimeType'] === 'string';
    const fields = Object.entries(value).map(([key, field]) => [
      key,
      isForm(key, field) || (isEncoded && ENCODED.has(key)) ? field : inner(field),
    ]);
    return Object.fromEntries(fields);
  };
  const { result, error, ...rest } = response;
  return { ...rest, ...defined({ result: inner(result), error: inner(error) }) };
}

function contentOf(response: unknown): ReturnType<typeof mcpAnswer> {
  return mcpAnswer(fieldOf(response, 'result.content'));
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
  const what = meaning.command ?? (isUnproven ? tool : undefined);
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
