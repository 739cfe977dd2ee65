import { integerIn, isRecord, type JsonRecord, objectIn, objectsIn, parseJson } from '../model/record.ts';
import type { FormatName, Skipped, Transcript } from '../model/transcript.ts';
import { viewOf } from '../text/lines.ts';
import { NEWLINE } from '../wire/lines.ts';
import { HistoryIndex, MAX_LINE_BYTES } from './history-index.ts';
import type { HistoryIndexOptions, HistorySighting } from './history-sighting.ts';
import { timeIn } from './json-value.ts';

export interface DerivedHistory {
  /** Undefined only for an empty transcript. */
  readonly format: FormatName | undefined;
  readonly records: number;
  /** What the model has seen and still has in its context, oldest first. */
  readonly sightings: readonly HistorySighting[];
  readonly skipped: Skipped;
}

/** Larger transcripts are read line by line; up to this size a document is parsed as a whole. */
const MAX_DOCUMENT_BYTES = MAX_LINE_BYTES;

/**
 * Derives from a conversation what its model has seen. Makes one pass and keeps hashes, not contents. Lines that are
 * not JSON and records without information are counted in `skipped`. Throws CONFIG_INVALID if the format is unknown.
 */
export function deriveSightings(
  transcript: Transcript,
  options: FormatName | HistoryIndexOptions = {},
): DerivedHistory {
  const index = new HistoryIndex(optionsOf(options));
  if (typeof transcript === 'string') addBytes(index, Buffer.from(transcript));
  else if (transcript instanceof Uint8Array) addBytes(index, viewOf(transcript));
  else if (Array.isArray(transcript)) for (const record of transcript) index.add(record);
  else index.add(transcript);
  return derived(index);
}

/**
 * Like `deriveSightings`, for a transcript in chunks, such as a file. Memory does not grow with the number of lines or
 * results.
 */
export async function deriveSightingsFrom(
  chunks: AsyncIterable<Uint8Array>,
  options: FormatName | HistoryIndexOptions = {},
): Promise<DerivedHistory> {
  const index = new HistoryIndex(optionsOf(options));
  let held: HeldStart | undefined = new HeldStart();
  for await (const chunk of chunks) {
    if (held === undefined) index.feed(chunk);
    else if (!held.add(chunk)) {
      for (const part of held.parts) index.feed(part);
      held = undefined;
    }
  }
  if (held !== undefined) addBytes(index, Buffer.concat(held.parts));
  return derived(index);
}

/** Buffers the beginning of a transcript while it may still be a single JSON document. */
class HeldStart {
  readonly parts: Uint8Array[] = [];
  #size = 0;
  #sawLine = false;

  /** Buffers a chunk. Returns false if this is not a document, or too large for one. */
  add(chunk: Uint8Array): boolean {
    this.parts.push(chunk);
    this.#size += chunk.length;
    if (this.#size > MAX_DOCUMENT_BYTES) return false;
    // One check suffices, as soon as the first line is complete.
    if (this.#sawLine || !chunk.includes(NEWLINE)) return true;
    this.#sawLine = true;
    return mayBeDocument(Buffer.concat(this.parts));
  }
}

function optionsOf(options: FormatName | HistoryIndexOptions): HistoryIndexOptions {
  return typeof options === 'string' ? { format: options } : options;
}

function derived(index: HistoryIndex): DerivedHistory {
  index.end();
  return {
    format: index.format,
    records: index.records,
    sightings: index.sightings(),
    skipped: index.skipped,
  };
}

function addBytes(index: HistoryIndex, bytes: Buffer): void {
  const document =
    bytes.length <= MAX_DOCUMENT_BYTES && mayBeDocument(bytes) ? parseJson(bytes.toString()) : undefined;
  if (document === undefined) index.feed(bytes);
  else index.add(document);
}

/** Whether this is one JSON document over many lines. If so, its first line alone is not JSON. */
function mayBeDocument(bytes: Buffer): boolean {
  const newline = bytes.indexOf('\n');
  if (newline === -1) return true;
  const line = bytes.toString('utf8', 0, newline).trim();
  return line === '' || ((line.startsWith('[') || line.startsWith('{')) && !isRecord(parseJson(line)));
}

/**
 * The part of a conversation that its client has cut off. The model no longer has in its context what it saw in this
 * time.
 */
export interface CutOff {
  /** The last moment that is still part of the conversation. */
  readonly afterMs: number;
  /** When the conversation continued from there. */
  readonly untilMs: number;
}

/**
 * The newest cut in the tail of a transcript. It is derived from the transcript alone, because no client reports that
 * its user has rewound. Undefined if the conversation simply continues.
 */
export function newestCut(tail: string): CutOff | undefined {
  const records = tail.split('\n').flatMap((line) => recordOf(line));
  if (records.some((record) => 'parentUuid' in record)) return claudeCut(records);
  if (records.some((record) => '$rewindTo' in record)) return geminiCut(records);
  return codexCut(records);
}

/** Parses a line. The first line of a tail may be cut, and the last one incomplete. */
function recordOf(line: string): JsonRecord[] {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? [value] : [];
  } catch {
    return [];
  }
}

function timeOf(record: JsonRecord | undefined): number | undefined {
  return record === undefined ? undefined : timeIn(record, 'timestamp');
}

/** Claude Code: after a rewind, the parent of the next prompt is not the last record but an older one. */
function claudeCut(all: readonly JsonRecord[]): CutOff | undefined {
  const records = all.filter((record) => record['isSidechain'] !== true && 'uuid' in record);
  const at = records.findLastIndex(isClaudePrompt);
  const prompt = records[at];
  const untilMs = timeOf(prompt);
  if (prompt === undefined || untilMs === undefined) return undefined;
  const parentAt = records.findIndex((record) => record['uuid'] === prompt['parentUuid']);
  const between = records.slice(parentAt + 1, at);
  if (!between.some(isSpoken)) return undefined;
  // A parent that is not in the tail is older than the whole tail.
  return { afterMs: timeOf(records[parentAt]) ?? 0, untilMs };
}

function isSpoken({ type, isMeta }: JsonRecord): boolean {
  return (type === 'user' || type === 'assistant') && isMeta !== true;
}

function isClaudePrompt(record: JsonRecord): boolean {
  if (record['type'] !== 'user' || record['isMeta'] === true) return false;
  const message = objectIn(record, 'message');
  if (message === undefined) return false;
  return !objectsIn(message, 'content').some((part) => part['type'] === 'tool_result');
}

/** Codex: `thread_rolled_back` removes the last turns. */
function codexCut(records: readonly JsonRecord[]): CutOff | undefined {
  let turns: number[] = [];
  let cut: CutOff | undefined;
  for (const record of records) {
    const payload = record['type'] === 'event_msg' ? objectIn(record, 'payload') : undefined;
    const ms = timeOf(record);
    if (payload === undefined || ms === undefined) continue;
    if (payload['type'] === 'task_started') turns.push(ms);
    if (payload['type'] !== 'thread_rolled_back') continue;
    const kept = Math.max(0, turns.length - (integerIn(payload, 'num_turns') ?? turns.length));
    cut = { afterMs: (turns[kept] ?? 1) - 1, untilMs: ms };
    turns = turns.slice(0, kept);
  }
  return cut;
}

/** Gemini CLI: `$rewindTo` names the first removed message. */
function geminiCut(records: readonly JsonRecord[]): CutOff | undefined {
  const at = records.findLastIndex((record) => '$rewindTo' in record);
  const first = records.find((record) => record['id'] === records[at]?.['$rewindTo']);
  const next = records
    .slice(at)
    .map(timeOf)
    .find((ms) => ms !== undefined);
  return { afterMs: (timeOf(first) ?? 1) - 1, untilMs: next ?? Number.POSITIVE_INFINITY };
}
