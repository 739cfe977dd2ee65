import { mcpAnswer } from '../dialect/calls/answer.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import { looksOf } from '../dialect/calls/touch.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import { defined, fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import { errorLine, INTERNAL_ERROR, parseLine, resultLine, rewrittenLine } from '../wire/rpc.ts';
import { answerEnding, withNotices } from './answers.ts';
import type { ProxyCall } from './call.ts';
import { type InterceptOptions, inWords } from './intercept-options.ts';
import { maskedResponse, redactedPaths } from './masked-answer.ts';
import { Received, type Wire } from './received.ts';
import { type CallMeaning, changes, commandOf, reads } from './understand.ts';

const NONE: ReadonlySet<string> = new Set();

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
  holds({ meaning, leftOut, session }: ProxyCall): boolean {
    if (leftOut.size > 0 || session?.masks === true) return true;
    if (this.#options.receipts && reads(meaning)) return true;
    return changes(meaning) || !showsItself(meaning);
  }

  /** Sends and records an answer. Returns undefined if it was sent at once and will be recorded later. */
  of(call: ProxyCall, received: Received): Promise<void> | undefined {
    return call.session?.masks === true ? this.#masked(call, received) : this.#sentAndNoted(call, received);
  }

  /** Masks secrets in the answer before it is sent. If that fails, the client gets an error instead. */
  async #masked(call: ProxyCall, received: Received): Promise<void> {
    const response = received.parse();
    try {
      if (response !== undefined && call.session !== undefined) {
        const shown = await maskedResponse(call.session, call.meaning, response);
        if (shown !== response) {
          call.original = response;
          return await this.#sentAndNoted(call, Received.whole(rewrittenLine(received.line, shown)));
        }
      }
    } catch (error) {
      this.#options.log(`the answer of ${call.tool} could not be masked: ${String(error)}`);
      this.#wire.toClient(errorLine(call.id, INTERNAL_ERROR, 'The answer could not be checked for secrets.'));
      return this.unanswered(call);
    }
    await this.#sentAndNoted(call, received);
  }

  #sentAndNoted(call: ProxyCall, received: Received): Promise<void> | undefined {
    const { meaning } = call;
    if (changes(meaning)) return this.#changed(call, received.line);
    if (call.leftOut.size > 0) return this.#partly(call, received.line);
    if (this.#options.receipts && reads(meaning)) return this.#receipted(call, received.line);
    if (!showsItself(meaning)) return this.#recorded(call, received);
    this.#answer(call, received);
    this.#options.shared.witnesses.later(() => this.#noted(call, received.parse()));
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

  async #witness(call: ProxyCall, session: ForeignSession, shown: unknown): Promise<void> {
    const { meaning, original } = call;
    // Compare the server's own text with the files, not the text with masks.
    const response = original ?? shown;
    const redacted = original === undefined ? NONE : redactedPaths(meaning, original, shown);
    const command = commandOf(meaning, call.tool);
    if (command !== undefined) await session.witness({ kind: 'command', command }, call.times);
    if (answerEnding(response) !== 'done') return;
    const answer = mcpAnswer(fieldOf(response, 'result.content'));
    await witnessLooks(call, session, answer.texts ?? []);
    for (const { path: given, content, ranges, clamped } of shownLines(meaning.touches, answer)) {
      const path = meaning.place(given);
      const event = {
        kind: 'read',
        path,
        ...defined({ content, ranges, clamped, redacted: redacted.has(given) || undefined }),
      } as const;
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
