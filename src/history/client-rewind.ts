import {
  integerIn,
  isRecord,
  type JsonRecord,
  objectIn,
  objectsIn,
  parseJson,
  stringIn,
  timeIn,
} from '../model/record.ts';

/**
 * The part of a conversation that its client has cut off, for example because the user rewound the
 * conversation. The model no longer has this part in its context.
 */
interface CutOff {
  /**
   * The last moment before the part that was cut off. Everything that the model saw before then
   * still counts.
   */
  readonly afterMs: number;
  /** The time at which the conversation continued after the cut. */
  readonly untilMs: number;
}

/**
 * The newest cut in the tail of a transcript. It is derived from the transcript alone, because no client reports that
 * its user has rewound. Undefined if the conversation simply continues.
 */
export function newestCut(tail: string): CutOff | undefined {
  const records = tail.split('\n').flatMap((line) => recordOf(line));
  if (records.some((record) => 'parentUuid' in record)) return claudeCut(records);
  if (records.some(isGeminiMark)) return geminiCut(records);
  return codexCut(records);
}

/**
 * The record in a line, as a list. The list is empty if the line is not a JSON object: the first
 * line of a tail may be cut off, and the last one may still be incomplete.
 */
function recordOf(line: string): JsonRecord[] {
  const value = parseJson(line);
  return isRecord(value) ? [value] : [];
}

function timeOf(record: JsonRecord | undefined): number | undefined {
  return record === undefined ? undefined : timeIn(record, 'timestamp');
}

/**
 * The newest cut in a transcript of Claude Code. After a rewind, the parent of the next prompt is
 * not the last record but an older one.
 */
function claudeCut(all: readonly JsonRecord[]): CutOff | undefined {
  const records = all.filter((record) => record['isSidechain'] !== true && 'uuid' in record);
  const at = records.findLastIndex(isClaudePrompt);
  const prompt = records[at];
  const untilMs = timeOf(prompt);
  if (prompt === undefined || untilMs === undefined) return undefined;
  const parentAt = records.findIndex((record) => record['uuid'] === prompt['parentUuid']);
  const between = records.slice(parentAt + 1, at);
  if (!between.some(isSpoken)) return undefined;
  // If the parent is not in the tail, the cut-off part began before the tail, so `afterMs` is 0.
  return { afterMs: timeOf(records[parentAt]) ?? 0, untilMs };
}

/**
 * True for a prompt or an answer. Results of tools do not count: those of parallel calls follow each
 * other, and the next prompt may name any of them as its parent.
 */
function isSpoken(record: JsonRecord): boolean {
  return (record['type'] === 'assistant' && record['isMeta'] !== true) || isClaudePrompt(record);
}

function isClaudePrompt(record: JsonRecord): boolean {
  if (record['type'] !== 'user' || record['isMeta'] === true) return false;
  const message = objectIn(record, 'message');
  if (message === undefined) return false;
  return !objectsIn(message, 'content').some((part) => part['type'] === 'tool_result');
}

/** The newest cut in a transcript of Codex, where `thread_rolled_back` removes the last turns. */
function codexCut(records: readonly JsonRecord[]): CutOff | undefined {
  let turns: number[] = [];
  let cut: CutOff | undefined;
  for (const record of records) {
    const payload = record['type'] === 'event_msg' ? objectIn(record, 'payload') : undefined;
    const ms = timeOf(record);
    if (payload === undefined || ms === undefined) continue;
    if (payload['type'] === 'task_started') turns.push(ms);
    if (payload['type'] !== 'thread_rolled_back') continue;
    const kept = turns.length - (integerIn(payload, 'num_turns') ?? Number.POSITIVE_INFINITY);
    if (kept >= turns.length) continue;
    // If the first removed turn began before the tail, its time is unknown, so `afterMs` is 0.
    cut = { afterMs: (turns[kept] ?? 1) - 1, untilMs: ms };
    turns = turns.slice(0, Math.max(0, kept));
  }
  return cut;
}

/**
 * The part of an old Codex file that still counts after a rewind. Newer versions of Codex then
 * begin a new file, whose first record describes this part.
 */
interface KeptPart {
  readonly thread: string;
  /** The number of records of the old file that still count. */
  readonly records: number;
  readonly endByte: number;
  /** The time at which the conversation continued after the rewind. */
  readonly untilMs: number;
}

/**
 * For a Codex file that begins after a rewind: the part of the older file that still counts, as the
 * first record of the new file says. Undefined for any other transcript.
 */
export function keptPart(head: string): KeptPart | undefined {
  const [record] = recordOf(head.slice(0, Math.max(0, head.indexOf('\n'))));
  const payload = record?.['type'] === 'session_meta' ? objectIn(record, 'payload') : undefined;
  const base = payload === undefined ? undefined : objectIn(payload, 'history_base');
  const untilMs = timeOf(record);
  if (payload === undefined || base === undefined || untilMs === undefined) return undefined;
  const thread = stringIn(base, 'thread_id');
  // If the thread of the old file has another id, this is a fork. A fork is a new session, not a
  // rewind.
  if (thread === undefined || thread !== payload['id']) return undefined;
  const records = integerIn(base, 'end_ordinal_exclusive') ?? 0;
  return { thread, records, endByte: integerIn(base, 'end_byte_offset') ?? 0, untilMs };
}

/**
 * The time of the last record in `tail`, if this record is the last one of the kept part; otherwise
 * undefined.
 */
export function endOfKeptPart({ records }: KeptPart, tail: string): number | undefined {
  const last = recordOf(tail.trimEnd().split('\n').at(-1) ?? '')[0];
  return last?.['ordinal'] === records - 1 ? timeOf(last) : undefined;
}

/**
 * The newest cut in a transcript of Gemini CLI. `$rewindTo` names the first removed message. `$set`
 * replaces all messages, which is a cut only if a message is missing afterwards.
 */
function geminiCut(records: readonly JsonRecord[]): CutOff | undefined {
  const messages = new GeminiMessages();
  for (const [at, record] of records.entries()) {
    const all = newMessages(record);
    if (all !== undefined) messages.replace(all);
    else if ('$rewindTo' in record) messages.rewind(record['$rewindTo'], records.slice(at));
    else if (record['type'] === 'user' || record['type'] === 'gemini') messages.add(record);
  }
  messages.settle();
  return messages.cut;
}

function isGeminiMark(record: JsonRecord): boolean {
  return '$rewindTo' in record || newMessages(record) !== undefined;
}

/** The messages in a record that replaces all earlier messages; undefined for any other record. */
function newMessages(record: JsonRecord): readonly JsonRecord[] | undefined {
  const set = objectIn(record, '$set');
  return set !== undefined && Array.isArray(set['messages']) ? objectsIn(set, 'messages') : undefined;
}

/** The messages of a conversation while its records are read in order. */
class GeminiMessages {
  cut: CutOff | undefined;
  #live: unknown[] = [];
  /** The earliest recorded time of each message, by the message's id. */
  readonly #times = new Map<unknown, number>();
  /**
   * The messages of the last `replace`. They take effect only in `settle`: when a conversation is
   * resumed, two records replace all messages, and only the second one counts.
   */
  #next: readonly JsonRecord[] | undefined;

  add(message: JsonRecord): void {
    this.settle();
    this.#live.push(message['id']);
    this.#note(message);
  }

  replace(messages: readonly JsonRecord[]): void {
    this.#next = messages;
  }

  /**
   * Removes the message with the id `first` and all later ones, and sets `cut`. `rest`: the record
   * of the rewind and all records after it. The first time in `rest` is the end of the cut.
   */
  rewind(first: unknown, rest: readonly JsonRecord[]): void {
    this.settle();
    const next = rest.map(timeOf).find((ms) => ms !== undefined);
    this.#cutFrom(first, next ?? Number.POSITIVE_INFINITY);
    this.#live = this.#live.slice(0, Math.max(0, this.#live.indexOf(first)));
  }

  /** Carries out the last `replace`. If an old message is missing from the new ones, sets `cut`. */
  settle(): void {
    if (this.#next === undefined) return;
    const ids = this.#next.map((message) => message['id']);
    const kept = new Set(ids);
    const first = this.#live.find((id) => !kept.has(id));
    for (const message of this.#next) this.#note(message);
    const untilMs = this.#next.reduce((latest, message) => Math.max(latest, timeOf(message) ?? 0), 0);
    if (first !== undefined) this.#cutFrom(first, untilMs);
    this.#live = ids;
    this.#next = undefined;
  }

  #cutFrom(first: unknown, untilMs: number): void {
    this.cut = { afterMs: (this.#times.get(first) ?? 1) - 1, untilMs };
  }

  #note(message: JsonRecord): void {
    const ms = timeOf(message);
    if (ms !== undefined && !this.#times.has(message['id'])) this.#times.set(message['id'], ms);
  }
}
