import { isRecord, parseJson } from '../model/record.ts';
import type { FormatName, Resumed, Transcript } from '../model/transcript.ts';
import { viewOf } from '../text/lines.ts';
import { NEWLINE } from '../wire/lines.ts';
import { HistoryIndex, MAX_LINE_BYTES } from './history-index.ts';
import type { HistoryIndexOptions, HistorySighting } from './history-sighting.ts';

export interface DerivedHistory {
  /** Undefined only for an empty transcript. */
  readonly format: FormatName | undefined;
  readonly records: number;
  /** The file contents that the model still has in its context, oldest first. */
  readonly sightings: readonly HistorySighting[];
  readonly skipped: Resumed['skipped'];
}

/**
 * Maximum size of a transcript that is parsed as one JSON document. A larger one is read line by
 * line.
 */
const MAX_DOCUMENT_BYTES = MAX_LINE_BYTES;

/**
 * Derives from a conversation which file contents its model has seen. Makes one pass and keeps
 * hashes, not contents. Counts input that it cannot use, such as lines that are not JSON, in
 * `skipped`. Throws CONFIG_INVALID if the format is unknown.
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
 * Like `deriveSightings`, for a transcript that arrives in chunks, for example from a file. Memory
 * does not grow with the number of lines or results.
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

  /** Buffers a chunk. Returns false if the transcript is not a single document, or is too large to be parsed as one. */
  add(chunk: Uint8Array): boolean {
    this.parts.push(chunk);
    this.#size += chunk.length;
    if (this.#size > MAX_DOCUMENT_BYTES) return false;
    // Check only once, when the first line is complete: the first line shows whether this is a
    // single document.
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

/**
 * True if the bytes may be a single JSON document. If such a document has several lines, its first
 * line is not a complete JSON object. Otherwise the transcript has one record per line.
 */
function mayBeDocument(bytes: Buffer): boolean {
  const newline = bytes.indexOf('\n');
  if (newline === -1) return true;
  const line = bytes.toString('utf8', 0, newline).trim();
  return line === '' || ((line.startsWith('[') || line.startsWith('{')) && !isRecord(parseJson(line)));
}
