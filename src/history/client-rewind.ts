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
 * replaces all messages, which is a cut only if a message is missing afterwards. When a conversation is
 * resumed, two records replace all messages, and only the second one counts.
 */
function geminiCut(all: readonly JsonRecord[]): CutOff | undefined {
  const marks = all.filter((record) => isGeminiMark(record) || isGeminiMessage(record));
  const isReplaced = (at: number): boolean => [at, at + 1].every((each) => newMessages(marks[each] ?? {}));
  let cut: CutOff | undefined;
  let live: unknown[] = [];
  /** The earliest recorded time of each message, by the message's id. */
  const times = new Map<unknown, number>();
  const note = (message: JsonRecord): void => {
    const ms = timeOf(message);
    if (ms !== undefined && !times.has(message['id'])) times.set(message['id'], ms);
  };
  const cutFrom = (first: unknown, untilMs: number): void => {
    cut = { afterMs: (times.get(first) ?? 1) - 1, untilMs };
  };
  for (const record of marks.filter((_, at) => !isReplaced(at))) {
    const messages = newMessages(record);
    if (messages !== undefined) {
      const ids = messages.map((message) => message['id']);
      const kept = new Set(ids);
      const first = live.find((id) => !kept.has(id));
      for (const message of messages) note(message);
      const untilMs = messages.reduce((latest, message) => Math.max(latest, timeOf(message) ?? 0), 0);
      if (first !== undefined) cutFrom(first, untilMs);
      live = ids;
    } else if ('$rewindTo' in record) {
      const first = record['$rewindTo'];
      // The first time from here on is the end of the cut.
      const later = all.slice(all.indexOf(record)).map(timeOf);
      cutFrom(first, later.find((ms) => ms !== undefined) ?? Number.POSITIVE_INFINITY);
      live = live.slice(0, Math.max(0, live.indexOf(first)));
    } else {
      live.push(record['id']);
      note(record);
    }
  }
  return cut;
}

function isGeminiMessage({ type }: JsonRecord): boolean {
  return type === 'user' || type === 'gemini';
}

function isGeminiMark(record: JsonRecord): boolean {
  return '$rewindTo' in record || newMessages(record) !== undefined;
}

/** The messages in a record that replaces all earlier messages; undefined for any other record. */
function newMessages(record: JsonRecord): readonly JsonRecord[] | undefined {
  const set = objectIn(record, '$set');
  return set !== undefined && Array.isArray(set['messages']) ? objectsIn(set, 'messages') : undefined;
}
