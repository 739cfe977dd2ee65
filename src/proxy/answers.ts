import type { ArgumentName, Rule } from '../dialect/calls/table.ts';
import type { Fault } from '../model/fault.ts';
import { defined, fieldOf, isRecord, type JsonRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { explain } from '../report/explain.ts';
import { OUTCOME_KEY, refusalOutcome, successOutcome } from '../report/json.ts';
import { inTermsOf } from '../report/tool-names.ts';
import { storeCause } from '../tools/failure.ts';
import { isModern, resultLine } from '../wire/rpc.ts';
import type { Answerable, ProxyCall } from './call.ts';
import type { GateSettings } from './gate-settings.ts';
import { isUnknownTool, unknownToolText } from './unknown-refusal.ts';

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
 * Adds the refusals of files that were left out to the server's result, as a text block. If
 * `structuredContent` only repeats the text, adds them there too, because some clients show nothing else.
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

/**
 * Renders a refusal with the upstream's tool names. If the upstream has its own error message for
 * the case, that comes first.
 */
export function inWords(
  refusal: Refusal,
  settings: Pick<GateSettings, 'wording' | 'catalogue' | 'where'>,
  call?: Pick<ProxyCall, 'tool' | 'meaning'>,
): string {
  if (isUnknownTool(refusal)) return unknownToolText(refusal);
  const { catalogue, wording } = settings;
  const rules = catalogue.rulesOf(call?.tool ?? '') ?? [];
  const terms = argumentsOf(rules);
  const { words } = catalogue;
  const tools = { ...words, arguments: { ...words.arguments, ...defined({ oldText: terms['old_string'] }) } };
  const text = explain(inTermsOf(terms, refusal), { nowMs: Date.now(), tools, wording });
  const rule = rules.find(({ does }) => does === 'move');
  const own =
    refusal.code === 'ALREADY_EXISTS' && rule?.does === 'move'
      ? rule.taken
      : catalogue.table?.sentences?.[refusal.code];
  if (own === undefined) return text;
  const values = { PATH: refusal.path, ROOT: settings.where.root, TEXT: oldTextOf(refusal, call) };
  return `${own.replace(/PATH|ROOT|TEXT/g, (name) => values[name as keyof typeof values] ?? '')}\n${text}`;
}

/** The old text of the refused edit; empty if the call makes no edit. */
function oldTextOf({ detail }: Refusal, call: Pick<ProxyCall, 'meaning'> | undefined): string {
  const edit = call?.meaning.intents.find(({ kind }) => kind === 'edit');
  return edit?.kind === 'edit' ? (edit.edits[detail?.index ?? 0]?.oldString ?? '') : '';
}

/** Maps the argument names of Lookfirst's own edits and inserts to those of the called tool. */
function argumentsOf(rules: readonly Rule[]): Readonly<Record<string, string>> {
  const terms: Record<string, string> = {};
  const name = (ours: string, theirs: ArgumentName | undefined): void => {
    const [first] = theirs === undefined ? [] : [theirs].flat();
    if (first !== undefined) terms[ours] = first;
  };
  for (const rule of rules) {
    if (rule.does === 'edit') {
      name('old_string', rule.edit.old);
      name('new_string', rule.edit.new);
      name('replace_all', rule.edit.all);
    }
    if (rule.does === 'insert') name('after_line', rule.after?.argument);
  }
  return terms;
}
