import { mcpAnswer } from '../dialect/calls/answer.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import { endingOf, withNotices } from './answers.ts';
import type { Call } from './call.ts';
import { EscapedText } from './escaped-text.ts';
import type { InterceptOptions } from './intercept-options.ts';
import type { Received } from './received.ts';
import { parseLine, resultLine } from './rpc.ts';
import { changes, commandOf, reads, type Understanding } from './understand.ts';
import type { Wire } from './wire.ts';

/**
 * What follows an answer. A read that shows the lines themselves goes out at once, untouched, and is noted a moment later
 * by what it showed; until then its turn is kept, so that no change can overtake the note. Anything else is noted by
 * what is on disk, and recorded before its answer goes out.
 */
export class Aftermath {
  readonly #options: Pick<InterceptOptions, 'receipts' | 'shared' | 'log'>;
  readonly #wire: Wire;

  constructor(options: Pick<InterceptOptions, 'receipts' | 'shared' | 'log'>, wire: Wire) {
    this.#options = options;
    this.#wire = wire;
  }

  /** Something is to be done when the answer comes. */
  awaits({ understanding }: Call): boolean {
    return changes(understanding) || isWorthNoting(understanding);
  }

  /** The client must not have the answer before that is done. */
  holds({ understanding }: Call): boolean {
    if (this.#options.receipts && reads(understanding)) return true;
    return changes(understanding) || !showsItself(understanding);
  }

  /** Undefined: done, as far as the client is concerned. */
  of(call: Call, received: Received): Promise<void> | undefined {
    const { understanding } = call;
    if (changes(understanding)) return this.#changed(call, received.line);
    if (this.#options.receipts && reads(understanding)) return this.#receipted(call, received.line);
    if (!showsItself(understanding)) return this.#recorded(call, received);
    this.#answer(call, received);
    this.#options.shared.witnesses.later(() => this.#notedShown(call, received));
    return undefined;
  }

  /** No answer will come, or none that counts. */
  async unanswered(call: Call): Promise<void> {
    try {
      if (call.change !== undefined) await call.session?.settle(call.change, 'unknown');
      const command = commandOf(call.understanding, call.tool);
      if (command !== undefined) await call.session?.witness({ kind: 'command', command }, call.times);
    } finally {
      call.release();
    }
  }

  drain(): Promise<void> {
    return this.#options.shared.witnesses.drain();
  }

  async #recorded(call: Call, received: Received): Promise<void> {
    await this.#noted(call, received.parse());
    this.#answer(call, received);
  }

  async #changed(call: Call, line: Buffer): Promise<void> {
    const response = parseLine(line);
    let notices: readonly Notice[] = [];
    try {
      const settled = await call.session?.settle(call.change ?? '', endingOf(response));
      notices = settled?.ok === true ? [...call.notices, ...settled.notices] : call.notices;
    } catch (error) {
      // The upstream has already done it: the client must learn so, whatever became of our record.
      this.#options.log(`${call.tool} was done and could not be recorded: ${String(error)}`);
      notices = [{ kind: 'not-recorded' }];
    }
    const result = fieldOf(response, 'result');
    const telling = notices.length > 0 && endingOf(response) === 'done' && isRecord(result);
    this.#wire.toClient(telling ? withNotices(call.id, result, notices) : line);
    call.times.answeredAt = performance.now();
    await this.#noted(call, response);
  }

  async #receipted(call: Call, line: Buffer): Promise<void> {
    const response = parseLine(line);
    await this.#noted(call, response);
    const result = fieldOf(response, 'result');
    const { session } = call;
    const shows = session !== undefined && isRecord(result) && endingOf(response) === 'done';
    const receipts = shows ? await receiptsFor(session, call.understanding, result) : '';
    this.#wire.toClient(
      receipts === '' || !isRecord(result) ? line : withReceipts(call.id, result, receipts),
    );
    call.times.answeredAt = performance.now();
  }

  /** Hands the answer on, unless the client has it already. */
  #answer(call: Call, received: Received): void {
    if (!received.forwarded) this.#wire.toClient(received.line);
    call.times.answeredAt = performance.now();
  }

  /** The quick way for one whole file; anything else is parsed. */
  async #notedShown(call: Call, received: Received): Promise<void> {
    const path = wholeFileOf(call);
    const text = path === undefined ? undefined : EscapedText.in(received);
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
      this.#options.log(`${call.tool} could not be noted: ${String(error)}`);
    }
    await this.#noted(call, received.parse());
  }

  /** Notes reads, listings and commands; gives the turn back. Never throws: nothing noted means nothing seen. */
  async #noted(call: Call, response: unknown): Promise<void> {
    try {
      if (call.session !== undefined) await this.#witness(call, call.session, response);
    } catch (error) {
      this.#options.log(`${call.tool} could not be noted: ${String(error)}`);
    } finally {
      call.release();
    }
  }

  async #witness(call: Call, session: ForeignSession, response: unknown): Promise<void> {
    const { understanding } = call;
    const command = commandOf(understanding, call.tool);
    if (command !== undefined) await session.witness({ kind: 'command', command }, call.times);
    if (endingOf(response) !== 'done') return;
    for (const touch of understanding.touches)
      if (touch.does === 'list')
        await session.witness({ kind: 'list', path: understanding.place(touch.path) }, call.times);
    for (const { path: given, content, ranges, clamped } of shownLines(
      understanding.touches,
      mcpAnswer(fieldOf(response, 'result.content')),
    )) {
      const event = {
        kind: 'read',
        path: understanding.place(given),
        ...(content === undefined ? {} : { content }),
        ...(ranges === undefined ? {} : { ranges }),
        ...(clamped === undefined ? {} : { clamped }),
      } as const;
      await session.witness(understanding.guessed ? { ...event, guessed: true } : event, call.times);
    }
  }
}

/** The path, if the call reads one whole file and the table says that its text is shown as it is. */
function wholeFileOf({ understanding }: Call): string | undefined {
  const [touch, ...more] = understanding.touches;
  if (touch?.does !== 'read' || more.length > 0 || understanding.guessed || touch.asked !== undefined)
    return undefined;
  const { shown } = touch;
  const plain = shown.as === 'verbatim' && shown.header === undefined && shown.footers === undefined;
  return plain ? understanding.place(touch.path) : undefined;
}

function isWorthNoting({ touches, unexplained }: Understanding): boolean {
  return unexplained || touches.some(({ does }) => does === 'read' || does === 'list');
}

function showsItself({ touches, unexplained }: Understanding): boolean {
  return !unexplained && touches.every((touch) => touch.does === 'read' && touch.shown.as !== 'described');
}

/** One line for each file that was read: `[read PATH lines A-B of N revision R]`, as far as it is known. */
async function receiptsFor(
  session: ForeignSession,
  understanding: Understanding,
  result: JsonRecord,
): Promise<string> {
  const lines: string[] = [];
  for (const shown of shownLines(understanding.touches, mcpAnswer(result['content']))) {
    const status = await session.status(understanding.place(shown.path));
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
 * The result with its receipts after the text. Where the structured content is only the same text once more, it gets
 * them too, for some clients show nothing else; any other structured content has a schema of its own and stays as it is.
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
