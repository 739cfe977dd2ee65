import type { Fault } from '../model/fault.ts';
import { fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { OUTCOME_KEY, refusalOutcome, successOutcome } from '../report/json.ts';
import { storeCause } from '../tools/failure.ts';
import { isModern, resultLine } from '../wire/rpc.ts';

/** A request that can be answered: its message, and the JSON text of its id, which also identifies it. */
export interface Answerable {
  readonly message: JsonRecord;
  readonly id: string;
}

/**
 * A tool result for a refusal. It has no structuredContent, because clients require none if
 * `isError` is set.
 */
export function refusalLine(request: Answerable, refusal: Refusal, text: string): Buffer {
  return resultLine(request.id, toolError(request, text, { ...refusalOutcome(refusal) }));
}

/**
 * A tool result for a call that is refused because the check itself failed. Details go to stderr,
 * not to the model.
 */
export function faultLine(request: Answerable, fault: Fault | undefined): Buffer {
  const code = fault?.code ?? 'IO_FAILED';
  const cause = fault === undefined ? undefined : storeCause(fault);
  const because = cause === undefined ? '' : ` because ${cause}`;
  const text = `The check itself failed${because}, so this call was refused and nothing was changed [${code}]. Tell the user; Lookfirst's standard error has the details.`;
  return resultLine(request.id, toolError(request, text, { ok: false, code, next: 'ask_human' }));
}

function toolError(request: Answerable, text: string, outcome: JsonRecord): JsonRecord {
  return {
    ...(isModern(request.message) ? { resultType: 'complete' } : {}),
    content: [{ type: 'text', text }],
    isError: true,
    _meta: { [OUTCOME_KEY]: outcome },
  };
}

/** Adds notices to the server's result as one more text block; everything else stays unchanged. */
export function withNotices(result: JsonRecord, notices: readonly Notice[]): JsonRecord {
  const text = notices
    .map((notice) => describeNotice(notice))
    .filter((sentence) => sentence !== '')
    .join('\n');
  const meta = isRecord(result['_meta']) ? result['_meta'] : {};
  return { ...withBlock(result, text), _meta: { ...meta, [OUTCOME_KEY]: successOutcome({ notices }) } };
}

/**
 * Adds a text block to the server's result: receipts (a line about each file read), or the refusals
 * of files that were left out. If `structuredContent` only repeats the text, adds the text there
 * too, because some clients show nothing else.
 */
export function withTextBlock(result: JsonRecord, added: string): JsonRecord {
  if (added === '') return result;
  const [first] = blocksOf(result);
  const text = isRecord(first) && typeof first['text'] === 'string' ? first['text'] : undefined;
  const structured = result['structuredContent'];
  const doubled = isRecord(structured) && text !== undefined && structured['content'] === text;
  return {
    ...withBlock(result, added),
    ...(doubled ? { structuredContent: { ...structured, content: `${text}\n${added}` } } : {}),
  };
}

function withBlock(result: JsonRecord, text: string): JsonRecord {
  return text === '' ? result : { ...result, content: [...blocksOf(result), { type: 'text', text }] };
}

function blocksOf({ content }: JsonRecord): readonly unknown[] {
  return Array.isArray(content) ? content : [];
}

/**
 * The outcome of a call, from its answer. `unknown`: the answer is a task or a question to the
 * user, so the call has not ended.
 */
export function answerEnding(response: unknown): 'done' | 'failed' | 'unknown' {
  const result = fieldOf(response, 'result');
  if (!isRecord(result) || result['isError'] === true) return 'failed';
  const type = result['resultType'];
  if (isRecord(result['task']) || (type !== undefined && type !== 'complete')) return 'unknown';
  return 'done';
}
