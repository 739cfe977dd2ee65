import { mcpAnswer } from '../dialect/calls/answer.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import { looksOf } from '../dialect/calls/touch.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import { defined, fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import { parseLine, resultLine } from '../wire/rpc.ts';
import { answerEnding, withNotices } from './answers.ts';
import type { ProxyCall } from './call.ts';
import { type InterceptOptions, inWords } from './intercept-options.ts';
import type { Received, Wire } from './received.ts';
import { type CallMeaning, changes, commandOf, reads } from './understand.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Maps the character after a backslash in JSON to the byte that the escape means; 0 if it means none. */
const ESCAPES: Uint8Array = escapes();
/** Matches the beginning of an answer with a single text, in the key orders that servers use. */
const OPENING =
  /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(?:"[ !#-[\]-~]*"|-?\d+)\s*,\s*)?"result"\s*:\s*\{\s*"content"\s*:\s*\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*"/;
const IS_ERROR = Buffer.from('"isError"');
const RESULT_TYPE = Buffer.from('"resultType"');
const COMPLETE = Buffer.from('"resultType":"complete"');

type AftermathOptions = Pick<
  InterceptOptions,
  'receipts' | 'shared' | 'log' | 'wording' | 'catalogue' | 'where'
>;

/**
 * Handles a call after its answer has arrived. An answer that only shows lines of files, and to
 * which the proxy adds nothing, is forwarded at once and recorded afterwards. Until it is recorded,
 * no other call can change these files. Any other answer is recorded before it is forwarded.
 */
export class Aftermath {
  readonly #options: AftermathOptions;
  readonly #wire: Wire;

  constructor(options: AftermathOptions, wire: Wire) {
    this.#options = options;
    this.#wire = wire;
  }

  /** True if the proxy must record the answer to this call. Any other answer is only forwarded. */
  awaits({ meaning }: ProxyCall): boolean {
    return changes(meaning) || isWorthNoting(meaning);
  }

  /** True if the client must not get the answer before the proxy has recorded it or added text to it. */
  holds({ meaning, leftOut }: ProxyCall): boolean {
    if (leftOut.size > 0) return true;
    if (this.#options.receipts && reads(meaning)) return true;
    return changes(meaning) || !showsItself(meaning);
  }

  /** Sends and records an answer. Returns undefined if it was sent at once and will be recorded later. */
  of(call: ProxyCall, received: Received): Promise<void> | undefined {
    const { meaning } = call;
    if (changes(meaning)) return this.#changed(call, received.line);
    if (call.leftOut.size > 0) return this.#partly(call, received.line);
    if (this.#options.receipts && reads(meaning)) return this.#receipted(call, received.line);
    if (!showsItself(meaning)) return this.#recorded(call, received);
    this.#answer(call, received);
    this.#options.shared.witnesses.later(() => this.#notedShown(call, received));
    return undefined;
  }

  /** Ends a call without a usable answer: it is unknown whether its change happened. */
  async unanswered(call: ProxyCall): Promise<void> {
    try {
      if (call.change !== undefined) await call.session?.settle(call.change, 'unknown');
      const command = commandOf(call.meaning, call.tool);
      if (command !== undefined) await call.session?.witness({ kind: 'command', command }, call.times);
    } finally {
      call.release();
    }
  }

  drain(): Promise<void> {
    return this.#options.shared.witnesses.drain();
  }

  async #recorded(call: ProxyCall, received: Received): Promise<void> {
    await this.#noted(call, received.parse());
    this.#answer(call, received);
  }

  async #changed(call: ProxyCall, line: Buffer): Promise<void> {
    const response = parseLine(line);
    let notices: readonly Notice[] = [];
    try {
      const settled = await call.session?.settle(call.change ?? '', answerEnding(response));
      notices = settled?.ok === true ? [...call.notices, ...settled.notices] : call.notices;
    } catch (error) {
      // The upstream has already made the change, so the client must learn that, even if recording it failed.
      this.#options.log(`${call.tool} was done, but could not be recorded: ${String(error)}`);
      notices = [{ kind: 'not-recorded' }];
    }
    const result = fieldOf(response, 'result');
    const claimNotice = notices.length > 0 && answerEnding(response) === 'done' && isRecord(result);
    this.#send(call, claimNotice ? withNotices(call.id, result, notices) : line);
    await this.#noted(call, response);
  }

  /** Completes the answer of a call that read several files: adds the refusals of the files that were left out. */
  async #partly(call: ProxyCall, line: Buffer): Promise<void> {
    const response = parseLine(line);
    await this.#noted(call, response);
    const result = fieldOf(response, 'result');
    const refused = [...call.leftOut].map(
      ([path, refusal]) => `${path}: Error - ${inWords(refusal, this.#options, call)}`,
    );
    this.#send(
      call,
      isRecord(result) && answerEnding(response) === 'done'
        ? withReceipts(call.id, result, refused.join('\n---\n'))
        : line,
    );
  }

  async #receipted(call: ProxyCall, line: Buffer): Promise<void> {
    const response = parseLine(line);
    await this.#noted(call, response);
    const result = fieldOf(response, 'result');
    const { session } = call;
    const shows = session !== undefined && isRecord(result) && answerEnding(response) === 'done';
    const receipts = shows ? await receiptsFor(session, call.meaning, result) : '';
    this.#send(call, receipts === '' || !isRecord(result) ? line : withReceipts(call.id, result, receipts));
  }

  /** Forwards the answer, unless the client already has it. */
  #answer(call: ProxyCall, received: Received): void {
    if (received.forwarded) call.times.answeredAt = performance.now();
    else this.#send(call, received.line);
  }

  /** Sends an answer. If the client does not get it, the lines in it do not count as seen. */
  #send(call: ProxyCall, line: Buffer): void {
    if (this.#wire.toClient(line)) call.times.answeredAt = performance.now();
  }

  /** Records what an answer showed. Uses the fast path for a single whole file, otherwise parses the answer. */
  async #notedShown(call: ProxyCall, received: Received): Promise<void> {
    const path = wholeFileOf(call);
    const text = path === undefined ? undefined : EscapedAnswer.in(received);
    try {
      if (
        path !== undefined &&
        text !== undefined &&
        (await call.session?.sawWhole({ path, key: call.keys[0] ?? '' }, text, call.times)) === true
      ) {
        call.release();
        return;
      }
    } catch (error) {
      this.#options.log(`${call.tool} could not be recorded: ${String(error)}`);
    }
    await this.#noted(call, received.parse());
  }

  /**
   * Records reads, listings and commands, then releases the files for the next call. Never throws:
   * if recording fails, nothing counts as seen.
   */
  async #noted(call: ProxyCall, response: unknown): Promise<void> {
    try {
      if (call.session !== undefined) await this.#witness(call, call.session, response);
    } catch (error) {
      this.#options.log(`${call.tool} could not be recorded: ${String(error)}`);
    } finally {
      call.release();
    }
  }

  async #witness(call: ProxyCall, session: ForeignSession, response: unknown): Promise<void> {
    const { meaning } = call;
    const command = commandOf(meaning, call.tool);
    if (command !== undefined) await session.witness({ kind: 'command', command }, call.times);
    if (answerEnding(response) !== 'done') return;
    const answer = mcpAnswer(fieldOf(response, 'result.content'));
    await witnessLooks(call, session, answer.texts ?? []);
    for (const { path: given, content, ranges, clamped } of shownLines(meaning.touches, answer)) {
      const path = meaning.place(given);
      const event = { kind: 'read', path, ...defined({ content, ranges, clamped }) } as const;
      const guessed = meaning.guessed ? ({ guessed: true } as const) : {};
      const before = call.before.has(path) ? { before: call.before.get(path), ...guessed } : {};
      await session.witness({ ...event, ...before }, call.times);
    }
  }
}

/** Records listings as seen. Searches and similar calls only get a journal entry. */
async function witnessLooks(
  { meaning, times }: ProxyCall,
  session: ForeignSession,
  texts: readonly string[],
): Promise<void> {
  const { touches, place } = meaning;
  for (const touch of touches)
    if (touch.does === 'list') await session.witness({ kind: 'list', path: place(touch.path) }, times);
  for (const path of looksOf(touches))
    await session.witness({ kind: 'look', path: place(path), shown: texts.join('\n') });
}

/** The path, if the call reads one whole file whose text the server shows verbatim. Otherwise undefined. */
function wholeFileOf({ meaning }: ProxyCall): string | undefined {
  const [touch, ...more] = meaning.touches;
  if (touch?.does !== 'read' || more.length > 0 || meaning.guessed || touch.asked !== undefined)
    return undefined;
  const { shown } = touch;
  const plain = shown.as === 'verbatim' && shown.header === undefined && shown.footers === undefined;
  return plain ? meaning.place(touch.path) : undefined;
}

function isWorthNoting({ touches, unexplained }: CallMeaning): boolean {
  return (
    unexplained ||
    touches.some(({ does }) => does === 'read' || does === 'list') ||
    looksOf(touches).length > 0
  );
}

function showsItself({ touches, unexplained }: CallMeaning): boolean {
  return !unexplained && touches.every((touch) => touch.does === 'read' && touch.shown.as !== 'described');
}

/**
 * One line for each file that was read: `[read PATH lines A-B of N revision R]`, with the parts
 * that are known.
 */
async function receiptsFor(
  session: ForeignSession,
  meaning: CallMeaning,
  result: JsonRecord,
): Promise<string> {
  const lines: string[] = [];
  for (const shown of shownLines(meaning.touches, mcpAnswer(result['content']))) {
    const status = await session.status(meaning.place(shown.path));
    const file = status.ok ? status.files[0] : undefined;
    if (file === undefined || file.seen === 'nothing') continue;
    const total = file.totalLines;
    const [range] = shown.ranges ?? [{ from: Math.min(1, total ?? 1), to: total ?? 0 }];
    const which =
      range === undefined || total === undefined ? '' : ` lines ${linesOf(range, total)} of ${total}`;
    const revision = file.revision === undefined ? '' : ` revision ${file.revision}`;
    lines.push(`[read ${shown.path}${which}${revision}]`);
  }
  return lines.join('\n');
}

function linesOf(range: { readonly from: number; readonly to: number }, total: number): string {
  const from = range.from < 0 ? total + 1 + range.from : range.from;
  const to = range.to < 0 ? total + 1 + range.to : Math.min(range.to, total);
  return `${from}-${to}`;
}

/**
 * Adds lines after the text of a result: receipts (a line about each file read), or the refusals of
 * files that were left out. If `structuredContent` only repeats the text, adds the lines there too,
 * because some clients show nothing else.
 */
function withReceipts(id: string, result: JsonRecord, receipts: string): Buffer {
  const content = Array.isArray(result['content']) ? result['content'] : [];
  const [first] = content;
  const text = isRecord(first) && typeof first['text'] === 'string' ? first['text'] : undefined;
  const structured = result['structuredContent'];
  const doubled = isRecord(structured) && text !== undefined && structured['content'] === text;
  return resultLine(id, {
    ...result,
    content: [...content, { type: 'text', text: receipts }],
    ...(doubled ? { structuredContent: { ...structured, content: `${text}\n${receipts}` } } : {}),
  });
}

/**
 * The text of an answer, still escaped, in the pieces in which it arrived. Compares it with a file
 * without parsing or copying it, because both are slow for a large file.
 */
export class EscapedAnswer {
  readonly #parts: readonly Buffer[];
  readonly #start: number;

  private constructor(received: Received, start: number) {
    this.#parts = received.parts;
    this.#start = start;
  }

  /** The text of an answer. Undefined if the answer must be parsed, because it does not match `OPENING`. */
  static in(received: Received): EscapedAnswer | undefined {
    const opening = OPENING.exec(received.head);
    if (opening === null || opening[0].length > (received.parts[0]?.length ?? 0)) return undefined;
    return new EscapedAnswer(received, opening[0].length);
  }

  /** True only if the answer is a success whose only content is one text of exactly these bytes. */
  equals(bytes: Uint8Array): boolean {
    let done = 0;
    let from = this.#start;
    let escaped = false;
    for (const [index, part] of this.#parts.entries()) {
      const { at, matched, open } = compare(part, from, { bytes, done, escaped });
      if (at === undefined) return false;
      if (matched === bytes.length && !open && part[at] === QUOTE) return this.#succeeds(index, at + 1);
      if (at < part.length) return false;
      done = matched;
      escaped = open;
      from = 0;
    }
    return false;
  }

  /** True if the list of contents ends at `at`, and no error or incomplete `resultType` follows. */
  #succeeds(index: number, at: number): boolean {
    const rest = [this.#parts[index]?.subarray(at) ?? Buffer.alloc(0), ...this.#parts.slice(index + 1)];
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = rest;
    const closing = first.toString('latin1', 0, 16) + second.toString('latin1', 0, 16);
    if (!/^\s*\}\s*\]/.test(closing)) return false;
    if (has(rest, IS_ERROR)) return false;
    return !has(rest, RESULT_TYPE) || has(rest, COMPLETE);
  }
}

/**
 * Compares a piece of an answer, from `from` on, with a file's bytes, from `done` on. Returns where
 * the equal part ends: `at` in the piece and `matched` in the file. If the bytes differ, `at` is
 * undefined. `open`: the piece ends inside an escape, after its backslash.
 */
function compare(
  part: Buffer,
  from: number,
  against: { readonly bytes: Uint8Array; readonly done: number; readonly escaped: boolean },
): { readonly at: number | undefined; readonly matched: number; readonly open: boolean } {
  const { bytes } = against;
  const { length } = part;
  let { done, escaped } = against;
  let at = from;
  while (at < length && done < bytes.length) {
    if (escaped) {
      const meant = ESCAPES[part[at] ?? 0];
      // A `\u` escape counts as different, because only the parser handles it.
      if (meant === 0 || meant !== bytes[done]) return DIFFERENT;
      escaped = false;
      at++;
      done++;
      continue;
    }
    const plain = plainLength({ part, at, bytes, done });
    at += plain;
    done += plain;
    if (at === length || done === bytes.length) break;
    if (part[at] !== BACKSLASH) return DIFFERENT;
    escaped = true;
    at++;
  }
  return { at, matched: done, open: escaped };
}

const DIFFERENT = { at: undefined, matched: 0, open: false } as const;

/** Number of equal bytes before an escape, quote or difference. Most bytes are compared here. */
function plainLength({
  part,
  at,
  bytes,
  done,
}: {
  readonly part: Buffer;
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly done: number;
}): number {
  const end = Math.min(part.length - at, bytes.length - done);
  let length = 0;
  for (; length < end; length++) {
    const byte = part[at + length];
    if (byte !== bytes[done + length] || byte === BACKSLASH || byte === QUOTE) break;
  }
  return length;
}

/** True if the pieces contain a word, even if it spans two of them. */
function has(parts: readonly Buffer[], word: Buffer): boolean {
  return parts.some((part, index) => {
    if (part.includes(word)) return true;
    const next = parts[index + 1];
    return (
      next !== undefined &&
      Buffer.concat([part.subarray(-word.length), next.subarray(0, word.length)]).includes(word)
    );
  });
}

function escapes(): Uint8Array {
  const table = new Uint8Array(256);
  const pairs = { '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 0x08, f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09 };
  for (const [letter, byte] of Object.entries(pairs)) table[letter.charCodeAt(0)] = byte;
  return table;
}
