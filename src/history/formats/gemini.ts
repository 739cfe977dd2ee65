import { geminiOutput, geminiPage } from '../../dialect/calls/hosts/answers.ts';
import { isRecord, type JsonRecord, objectIn, objectsIn, stringIn, timeIn } from '../../model/record.ts';
import type { Fold } from '../fold.ts';
import type { Format, Reader } from '../format.ts';
import { type Edited, editedBetween, type RecordedResult } from '../tool-result.ts';

/** Chats of Gemini CLI: a log of messages in which a later line with the same id replaces the earlier one. */
export const GEMINI: Format = {
  name: 'gemini',
  claim(record) {
    if ('$set' in record || '$rewindTo' in record) return 'sure';
    if (typeof record['sessionId'] === 'string' && typeof record['projectHash'] === 'string') return 'sure';
    return record['type'] === 'gemini' && typeof record['id'] === 'string' ? 'sure' : 'no';
  },
  open: (fold) => new GeminiReader(fold),
};

class GeminiReader implements Reader {
  readonly #fold: Fold;
  /** Positions of messages by id, in order; a replaced message keeps its position. */
  #places = new Map<string, number>();
  #next = 0;

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  read(record: JsonRecord): void {
    const rewindTo = stringIn(record, '$rewindTo');
    if (rewindTo !== undefined) {
      this.#rewind(rewindTo);
      return;
    }
    if (typeof record['id'] === 'string') {
      this.#message(record, record['id']);
      return;
    }
    const update = objectIn(record, '$set') ?? record;
    if (Array.isArray(update['messages'])) this.#replaceAll(objectsIn(update, 'messages'));
  }

  state(): unknown {
    return { places: [...this.#places], next: this.#next };
  }

  restore(state: unknown): void {
    // The cast is safe: `state` is Lookfirst's own snapshot, whose version was checked on opening.
    const { places, next } = state as { places: [string, number][]; next: number };
    this.#places = new Map(places);
    this.#next = next;
  }

  #replaceAll(messages: readonly JsonRecord[]): void {
    this.#fold.reset();
    this.#places.clear();
    for (const message of messages) {
      const id = stringIn(message, 'id');
      if (id !== undefined) this.#message(message, id);
    }
  }

  #message(message: JsonRecord, id: string): void {
    const known = this.#places.get(id);
    if (known === undefined) this.#next += 1;
    else this.#fold.forgetMessage(id);
    const place = known ?? this.#next;
    this.#places.set(id, place);
    this.#fold.place = place;
    for (const call of objectsIn(message, 'toolCalls')) this.#toolCall(call, message, id);
  }

  /** Removes the message with this id and all later ones. An unknown id removes everything. */
  #rewind(id: string): void {
    const place = this.#places.get(id) ?? 0;
    this.#fold.forgetFrom(place);
    for (const [other, at] of this.#places) if (at >= place) this.#places.delete(other);
  }

  #toolCall(call: JsonRecord, message: JsonRecord, messageId: string): void {
    const id = stringIn(call, 'id');
    const name = stringIn(call, 'name');
    const status = stringIn(call, 'status');
    if (id === undefined || name === undefined) return;
    const atMs = timeIn(call, 'timestamp') ?? timeIn(message, 'timestamp');
    this.#fold.call({ id, name, args: call['args'], atMs, message: messageId });
    // A call without a final status has no result yet; a later line contains it.
    if (status === undefined || !['success', 'error', 'cancelled'].includes(status)) return;
    const output = outputIn(call, id);
    const { failed, ...detail } = detailOf(call, output);
    const ok = status === 'success' && output !== undefined && !failed;
    const ended = detail.ended === undefined ? undefined : status === 'success' && detail.ended;
    this.#fold.result({ id, ok, flagged: true, ...detail, ended, atMs, message: messageId });
  }
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

type Detail = Pick<RecordedResult, 'text' | 'ended' | 'page' | 'stdout' | 'edited' | 'before'> & {
  readonly failed: boolean;
};

function detailOf(call: JsonRecord, output: string | undefined): Detail {
  if (output === undefined) return { failed: true };
  const page = geminiPage(output);
  if (page !== undefined) return { failed: false, text: output, page };
  const command = geminiOutput(output);
  if (command !== undefined)
    return { failed: !command.ok, ended: command.ended, text: output, stdout: command.stdout };
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
