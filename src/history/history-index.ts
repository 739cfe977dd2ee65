import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import type { FormatName, Skipped } from '../model/transcript.ts';
import { viewOf } from '../text/lines.ts';
import { LineScanner } from '../wire/lines.ts';
import { detectFormat, formatNamed, formatOfRecord } from './detect.ts';
import { sightingOf } from './entry.ts';
import { Fold, type FoldState } from './fold.ts';
import { Reader } from './format.ts';
import { checkHistoryOptions, type HistoryIndexOptions, type HistorySighting } from './history-sighting.ts';
import { locate } from './paths.ts';

/**
 * The whole state of an index as plain JSON. A restored index continues at byte `offset` of the
 * transcript.
 */
interface HistorySnapshot {
  readonly version: 4;
  readonly format: FormatName | null;
  readonly offset: number;
  readonly records: number;
  readonly fold: FoldState;
  readonly reader: unknown;
}

/**
 * After this many records without proof of a format, the transcript gets its most likely format.
 */
const MAX_UNDECIDED = 200;
/** Maximum line length. Longer lines are skipped without buffering, and counted. */
export const MAX_LINE_BYTES: number = 64 * 1024 * 1024;
const CARRIAGE_RETURN = 13;

/**
 * Finds in a transcript which lines of which files its model has seen. Feed it bytes as they are
 * appended, and query it at any time. The bytes may be split anywhere. Holds hashes and line ranges
 * of files, never their contents.
 */
export class HistoryIndex {
  readonly #fold: Fold;
  readonly #countsWrites: boolean;
  readonly #scanner: LineScanner;
  #base = 0;
  #format: FormatName | undefined;
  #reader: Reader | undefined;
  /** Records read before the format was known. */
  #undecided: JsonRecord[] = [];
  #records = 0;
  /** True if the input ended within a line when `end` was last called. */
  #incomplete = false;

  constructor(options: HistoryIndexOptions = {}) {
    checkHistoryOptions(options);
    this.#fold = new Fold(options);
    this.#countsWrites = options.counts !== 'reads';
    this.#scanner = new LineScanner({
      maxBytes: MAX_LINE_BYTES,
      chunks: 'reused',
      onLine: (bytes, start, end) => this.#line(bytes, start, end),
      onTooLong: () => this.#fold.skip('line-too-long'),
    });
    if (options.format !== undefined) this.#open(options.format);
  }

  /**
   * Continues from a snapshot: feed the transcript from `offset` on. Throws CONFIG_INVALID for a snapshot of another
   * version.
   */
  static restore(snapshot: HistorySnapshot, options: HistoryIndexOptions = {}): HistoryIndex {
    if (snapshot.version !== 4)
      throw new Fault(
        'CONFIG_INVALID',
        `the history snapshot has version ${String(snapshot.version)}, not 4: build the index again`,
      );
    const { format } = snapshot;
    const index = new HistoryIndex(options);
    index.#base = snapshot.offset;
    index.#records = snapshot.records;
    index.#fold.restore(snapshot.fold);
    if (format !== null) index.#open(format, fromPlain(snapshot.reader));
    return index;
  }

  /** The transcript's format. Undefined until the first records have determined it. */
  get format(): FormatName | undefined {
    return this.#format;
  }

  /**
   * The byte up to which the index has read the transcript: the end of the last complete line.
   * While the format is unknown, this is the byte at which the index began.
   */
  get offset(): number {
    return this.#base + (this.#reader === undefined ? 0 : this.#scanner.offset);
  }

  /** Number of records read. */
  get records(): number {
    return this.#records;
  }

  get skipped(): Skipped {
    const reasons = { ...this.#fold.reasons, ...(this.#incomplete ? { 'incomplete-line': 1 } : {}) };
    return { count: Object.values(reasons).reduce((sum, count) => sum + count, 0), reasons };
  }

  /** Reads more bytes of a transcript with one JSON record per line. A line may be split between chunks. */
  feed(chunk: Uint8Array): void {
    this.#incomplete = false;
    this.#scanner.scan(viewOf(chunk));
  }

  /** Adds one parsed record, or all records of a list. */
  add(record: unknown): void {
    if (Array.isArray(record)) for (const one of record) this.#add(one);
    else this.#add(record);
  }

  /**
   * Ends the input for now. A last line without a newline is read if it is complete; otherwise feed
   * it again from `offset` on. Throws CONFIG_INVALID if no input fits a known format.
   */
  end(): void {
    const rest = this.#scanner.takeRest();
    if (rest !== undefined && isWhole(rest)) this.#line(rest, 0, rest.length);
    else if (rest !== undefined) {
      this.#base -= rest.length;
      this.#incomplete = true;
    }
    this.#decide();
  }

  /**
   * True if the model has read this file, or a write of it has succeeded, since the model's context
   * was last cleared. With the option `counts: 'reads'`, writes do not count. Edits and searches
   * never count.
   */
  hasFileBeenRead(path: string): boolean {
    const known = this.#fold.options.paths === 'exact' ? path : this.#place(path);
    return (
      known !== undefined &&
      this.#fold.some(known, ({ view: { how } }) => how === 'read' || (how === 'write' && this.#countsWrites))
    );
  }

  /** The model's views of one file, oldest first. */
  seen(path: string): readonly HistorySighting[] {
    const known = this.#place(path);
    return known === undefined ? [] : this.#fold.of(known).map(sightingOf);
  }

  /** Everything that the model has seen and still has in its context, oldest first. */
  sightings(): readonly HistorySighting[] {
    return this.#fold.entries().map(sightingOf);
  }

  /**
   * Returns the state as plain JSON. While the format is unknown, this is the state of an empty
   * index. In both cases, a restored index must be fed from `offset` on.
   */
  snapshot(): HistorySnapshot {
    const decided = this.#reader !== undefined;
    return {
      version: 4,
      format: this.#format ?? null,
      offset: this.offset,
      records: decided ? this.#records : 0,
      fold: (decided ? this.#fold : new Fold({})).state(),
      reader: toPlain(this.#reader?.state),
    };
  }

  #place(path: string): string | undefined {
    return locate(path, this.#fold.options.cwd, this.#fold.options);
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (end === start || (end === start + 1 && bytes[start] === CARRIAGE_RETURN)) return;
    if (!this.#tryLine(bytes.subarray(start, end))) this.#fold.skip('not-json');
  }

  #tryLine(line: Buffer): boolean {
    const text = line.toString('utf8');
    if (text.trim() === '') return true;
    const record = parseJson(text);
    if (record === undefined) return false;
    this.add(record);
    return true;
  }

  #add(record: unknown): void {
    this.#records += 1;
    if (!isRecord(record)) this.#fold.skip('not-an-object');
    else if (this.#reader !== undefined) this.#reader.read(record);
    else this.#tryToOpen(record);
  }

  #tryToOpen(record: JsonRecord): void {
    this.#undecided.push(record);
    const format = formatOfRecord(record);
    if (format !== undefined) this.#open(format.name);
    else if (this.#undecided.length >= MAX_UNDECIDED) this.#decide();
  }

  #decide(): void {
    if (this.#reader === undefined && this.#records + this.skipped.count > 0)
      this.#open(detectFormat(this.#undecided));
  }

  #open(name: FormatName, state?: unknown): void {
    const format = formatNamed(name);
    this.#format = format.name;
    this.#reader = new Reader(format, this.#fold, state);
    const records = this.#undecided;
    this.#undecided = [];
    for (const record of records) this.#reader.read(record);
  }
}

/**
 * True if the last line of the input is complete. A number counts as incomplete: more digits could
 * follow, while a JSON object shows its end.
 */
function isWhole(line: Buffer): boolean {
  const text = line.toString('utf8');
  const value = parseJson(text);
  return text.trim() === '' || (value !== undefined && typeof value !== 'number');
}

/** A copy of a reader's state as plain JSON. Maps and sets become objects that name their kind. */
function toPlain(state: unknown): unknown {
  const text = JSON.stringify(state ?? null, (_key, value: unknown) => {
    if (value instanceof Map) return { map: [...value] };
    return value instanceof Set ? { set: [...value] } : value;
  });
  return JSON.parse(text);
}

/** The state that `toPlain` has converted. */
function fromPlain(plain: unknown): unknown {
  return JSON.parse(JSON.stringify(plain), (_key, value: unknown) => {
    if (isRecord(value) && Array.isArray(value['map'])) return new Map(value['map']);
    return isRecord(value) && Array.isArray(value['set']) ? new Set(value['set']) : value;
  });
}
