import { mcpAnswer } from '../dialect/calls/answer.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import { looksOf } from '../dialect/calls/touch.ts';
import type { AnswerContent } from '../model/host-session.ts';
import { defined, fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import { errorLine, INTERNAL_ERROR, lineOf } from '../wire/rpc.ts';
import { answerEnding, withNotices, withTextBlock } from './answers.ts';
import type { AdmittedCall, UpstreamAnswer } from './call.ts';
import type { GateSettings } from './gate-settings.ts';
import { receiptLine } from './receipt-tools.ts';
import { inWords } from './refusal-words.ts';
import { type CallMeaning, callPaths, commandOf, reads, showsItself } from './understand.ts';

/** A call that the server has received. */
export interface ForwardedCall extends AdmittedCall {
  /** The id of the call's change, which was announced in the store before the call was forwarded. */
  readonly change: string | undefined;
  readonly notices: readonly Notice[];
  /** SHA-256 of files before the call, by path; only of reads whose text may prove nothing. */
  readonly before: ReadonlyMap<string, string | undefined>;
}

/** Ends a call without a usable answer: it is unknown whether its change happened. */
export async function recordNoAnswer({
  session,
  change,
  meaning,
  tool,
  times,
}: ForwardedCall): Promise<void> {
  if (change !== undefined) await session.settle(change, 'unknown');
  const command = commandOf(meaning, tool);
  if (command !== undefined) await session.witness({ kind: 'command', command }, times);
}

/**
 * Masks and records an answer, and passes it on by `reply`. An answer that only shows lines of files,
 * and to which nothing is added, is passed on first: its recording needs no other text than its own.
 */
export async function passAnswer(
  settings: GateSettings,
  call: ForwardedCall,
  { answer, reply }: { readonly answer: UpstreamAnswer; readonly reply: (line: Buffer) => void },
): Promise<void> {
  const { message: original } = answer;
  const masked = await maskedOrLogged(settings, call, original);
  if (masked === undefined) {
    reply(errorLine(call.id, INTERNAL_ERROR, 'The answer could not be checked for secrets.'));
    return recordNoAnswer(call);
  }
  const record = (): Promise<readonly string[]> => recordShown(settings, call, { original, masked });
  if (call.leftOut.size === 0 && !settings.receipts && showsItself(call.meaning)) {
    reply(masked === original ? answer.line : lineOf(masked));
    return settings.shared.recordings.add(record().then(() => {}));
  }
  const notices = await endChange(settings, call, original);
  const receipts = await record();
  const result = masked['result'];
  const isDone = isRecord(result) && answerEnding(masked) === 'done';
  const added = isDone ? await withAdditions(settings, call, { result, notices, receipts }) : result;
  const isSame = masked === original && added === result;
  reply(isSame ? answer.line : lineOf(added === undefined ? masked : { ...masked, result: added }));
}

async function maskedOrLogged(
  { log }: GateSettings,
  call: ForwardedCall,
  response: JsonRecord,
): Promise<JsonRecord | undefined> {
  try {
    return await maskedResponse(call, response);
  } catch (error) {
    log(`the answer of ${call.tool} could not be masked: ${String(error)}`);
    return undefined;
  }
}

/** Settles the call's change by the server's answer. Returns the notices for the client. */
async function endChange(
  { log }: GateSettings,
  { session, change, notices, tool }: ForwardedCall,
  response: JsonRecord,
): Promise<readonly Notice[]> {
  if (change === undefined) return notices;
  try {
    const settled = await session.settle(change, answerEnding(response));
    return settled.ok ? [...notices, ...settled.notices] : notices;
  } catch (error) {
    // The server has already made the change, so the client must learn that, even if recording it failed.
    log(`${tool} was done, but could not be recorded: ${String(error)}`);
    return [{ kind: 'not-recorded' }];
  }
}

/**
 * Records reads, listings and commands. If that fails, nothing counts as seen, and the client gets
 * the answer all the same. Returns a receipt for each file that was read.
 */
async function recordShown(
  { log }: GateSettings,
  call: ForwardedCall,
  responses: { readonly original: JsonRecord; readonly masked: JsonRecord },
): Promise<readonly string[]> {
  const { session, meaning, tool, times } = call;
  try {
    const command = commandOf(meaning, tool);
    if (command !== undefined) await session.witness({ kind: 'command', command }, times);
    if (answerEnding(responses.original) !== 'done') return [];
    await witnessLooks(call, responses.original);
    return await witnessReads(call, responses);
  } catch (error) {
    log(`${tool} could not be recorded: ${String(error)}`);
    return [];
  }
}

/** Compares the server's own text with the files, not the text with masks. */
async function witnessReads(
  { session, meaning, times, before }: ForwardedCall,
  { original, masked }: { readonly original: JsonRecord; readonly masked: JsonRecord },
): Promise<readonly string[]> {
  const receipts: string[] = [];
  const redacted = masked === original ? undefined : redactedPaths(meaning, original, masked);
  for (const { path: given, content, ranges, clamped, how } of shownLines(
    meaning.touches,
    contentOf(original),
  )) {
    const path = meaning.place(given);
    const event = {
      kind: 'read',
      path,
      ...defined({ content, ranges, clamped, how, redacted: redacted?.has(given) || undefined }),
    } as const;
    const guessed = meaning.guessed ? ({ guessed: true } as const) : {};
    const since = before.has(path) ? { before: before.get(path), ...guessed } : {};
    const seen = await session.witness({ ...event, ...since }, times);
    if (seen.ok && seen.receipt !== undefined) receipts.push(receiptLine(given, ranges?.[0], seen.receipt));
  }
  return receipts;
}

/** Records listings as seen. Searches and similar calls only get a journal entry. */
async function witnessLooks({ session, meaning, times }: ForwardedCall, response: JsonRecord): Promise<void> {
  const texts = contentOf(response).texts ?? [];
  const { touches, place } = meaning;
  for (const touch of touches)
    if (touch.does === 'list') await session.witness({ kind: 'list', path: place(touch.path) }, times);
  for (const path of looksOf(touches))
    await session.witness({ kind: 'look', path: place(path), shown: texts.join('\n') });
}

/** The result with what the client must know besides it: notices, refusals of files that were left out, receipts. */
async function withAdditions(
  settings: GateSettings,
  call: ForwardedCall,
  {
    result,
    notices,
    receipts,
  }: {
    readonly result: JsonRecord;
    readonly notices: readonly Notice[];
    readonly receipts: readonly string[];
  },
): Promise<JsonRecord> {
  if (notices.length > 0) return withNotices(result, notices);
  if (call.leftOut.size > 0) {
    const refused = [...call.leftOut].map(
      ([path, refusal]) => `${path}: Error - ${inWords(refusal, settings, call)}`,
    );
    return withTextBlock(result, refused.join('\n---\n'));
  }
  if (!settings.receipts || !reads(call.meaning)) return result;
  return withTextBlock(result, receipts.join('\n'));
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
function redactedPaths({ touches }: CallMeaning, original: unknown, masked: unknown): ReadonlySet<string> {
  const shownBy = (response: unknown) => shownLines(touches, contentOf(response));
  const texts = new Map(shownBy(masked).map(({ path, content }) => [path, content]));
  return new Set(
    shownBy(original).flatMap(({ path, content }) => (texts.get(path) === content ? [] : [path])),
  );
}

function kindOfContent(meaning: CallMeaning): AnswerContent {
  const { touches, unexplained } = meaning;
  const [only, ...more] = touches;
  if (only?.does === 'read' && more.length === 0 && !unexplained)
    return {
      kind: 'file',
      path: meaning.place(only.path),
      extent: only.asked === undefined && !meaning.guessed ? 'whole' : 'part',
    };
  const isBound = !unexplained && touches.every(({ does }) => does === 'read' || does === 'change');
  return { kind: isBound ? 'files' : 'output', paths: callPaths(meaning) };
}

/** Keys of values that are encoded bytes, not text. */
const ENCODED = new Set(['data', 'blob']);

/** A copy of a response with every text in its result or error replaced, in a fixed order. */
function mapTexts(response: JsonRecord, replace: (text: string) => string): JsonRecord {
  const { result, error, ...rest } = response;
  const inner = (value: unknown): unknown => {
    if (typeof value === 'string') return replace(value);
    if (Array.isArray(value)) return value.map(inner);
    if (!isRecord(value)) return value;
    const isEncoded = typeof value['mimeType'] === 'string';
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [
        key,
        isEncoded && ENCODED.has(key) ? field : inner(field),
      ]),
    );
  };
  return {
    ...rest,
    ...(result === undefined ? {} : { result: inner(result) }),
    ...(error === undefined ? {} : { error: inner(error) }),
  };
}

function contentOf(response: unknown): ReturnType<typeof mcpAnswer> {
  return mcpAnswer(fieldOf(response, 'result.content'));
}
