import { geminiOutput, geminiPage } from '../../dialect/calls/hosts/answers.ts';
import { isRecord, type JsonRecord, objectIn, objectsIn, stringIn, timeIn } from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import type { Format } from '../format.ts';
import { type Edited, editedBetween, type RecordedResult } from '../tool-result.ts';

/** Chats of Gemini CLI: a log of messages in which a later line with the same id replaces the earlier one. */
export const GEMINI: Format = {
  name: 'gemini',
  claim(record) {
    if ('$set' in record || '$rewindTo' in record) return 'sure';
    if (typeof record['sessionId'] === 'string' && typeof record['projectHash'] === 'string') return 'sure';
    return record['type'] === 'gemini' && typeof record['id'] === 'string' ? 'sure' : 'no';
  },
  open: (fold) => {
    const state: GeminiState = { places: new Map(), next: 0 };
    return (record) => read(record, fold, state);
  },
};

interface GeminiState {
  /** Positions of messages by id, in order; a replaced message keeps its position. */
  readonly places: Map<string, number>;
  next: number;
}

function read(record: JsonRecord, fold: Fold, state: GeminiState): void {
  const { places } = state;
  const rewindTo = stringIn(record, '$rewindTo');
  if (rewindTo !== undefined) {
    // Remove the message with this id and all later ones. An unknown id removes everything.
    const place = places.get(rewindTo) ?? 0;
    fold.forgetFrom(place);
    for (const [other, at] of places) if (at >= place) places.delete(other);
    return;
  }
  if (typeof record['id'] === 'string') {
    readMessage(record, fold, state);
    return;
  }
  const update = objectIn(record, '$set') ?? record;
  if (!Array.isArray(update['messages'])) return;
  fold.reset();
  places.clear();
  for (const message of objectsIn(update, 'messages')) readMessage(message, fold, state);
}

function readMessage(message: JsonRecord, fold: Fold, state: GeminiState): void {
  const id = stringIn(message, 'id');
  if (id === undefined) return;
  const known = state.places.get(id);
  if (known === undefined) state.next += 1;
  else fold.forgetMessage(id);
  fold.place = known ?? state.next;
  state.places.set(id, fold.place);
  for (const call of objectsIn(message, 'toolCalls')) readCall(call, fold, message);
}

function readCall(call: JsonRecord, fold: Fold, holder: JsonRecord): void {
  const id = stringIn(call, 'id');
  const name = stringIn(call, 'name');
  const status = stringIn(call, 'status');
  if (id === undefined || name === undefined) return;
  const message = stringIn(holder, 'id');
  const atMs = timeIn(call, 'timestamp') ?? timeIn(holder, 'timestamp');
  fold.call({ id, name, args: call['args'], atMs, message });
  // A call without a final status has no result yet; a later line contains it.
  if (status === undefined || !['success', 'error', 'cancelled'].includes(status)) return;
  const output = outputIn(call, id);
  const { failed, ...detail } = detailOf(call, output);
  const ok = status === 'success' && output !== undefined && !failed;
  const ended = detail.ended === undefined ? undefined : status === 'success' && detail.ended;
  fold.result({ id, ok, flagged: true, ...detail, ended, atMs, message });
}

/**
 * The output of one call. `result` may contain the responses to all calls of a turn; the id selects
 * the one to this call.
 */
function outputIn(call: JsonRecord, id: string): string | undefined {
  const responses = objectsIn(call, 'result').flatMap((part): readonly JsonRecord[] => {
    const response = objectIn(part, 'functionResponse');
    return response === undefined ? [] : [response];
  });
  const own =
    responses.find((response) => response['id'] === id) ??
    (responses.length === 1 ? responses[0] : undefined);
  const response = own === undefined ? undefined : objectIn(own, 'response');
  return response === undefined ? undefined : stringIn(response, 'output');
}

type Detail = Pick<RecordedResult, 'text' | 'ended' | 'page' | 'output' | 'edited' | 'before'> & {
  readonly failed: boolean;
};

function detailOf(call: JsonRecord, output: string | undefined): Detail {
  if (output === undefined) return { failed: true };
  const page = geminiPage(output);
  if (page !== undefined) return { failed: false, text: output, page };
  const command = geminiOutput(output);
  if (command !== undefined)
    return { failed: !command.ok, ended: command.ended, text: output, output: command.stdout };
  return { failed: false, text: output, edited: editedIn(call), before: beforeIn(call) };
}

/**
 * The file's text before a write; null if the write created the file, undefined if the call does
 * not record it.
 */
function beforeIn(call: JsonRecord): string | null | undefined {
  const display = call['resultDisplay'];
  if (!isRecord(display)) return undefined;
  return display['isNewFile'] === true ? null : stringIn(display, 'originalContent');
}

/**
 * The edit that a call made. Undefined if the call does not record the texts before and after it,
 * or if the user changed the model's proposal.
 */
function editedIn(call: JsonRecord): Edited | undefined {
  const display = call['resultDisplay'];
  if (!isRecord(display)) return undefined;
  const before = stringIn(display, 'originalContent');
  const after = stringIn(display, 'newContent');
  const stat = objectIn(display, 'diffStat') ?? {};
  const byUser = Number(stat['user_added_lines'] ?? 0) + Number(stat['user_removed_lines'] ?? 0);
  return before === undefined || after === undefined || byUser > 0 ? undefined : editedBetween(before, after);
}
