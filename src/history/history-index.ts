import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import type { FormatName, Resumed } from '../model/transcript.ts';
import { viewOf } from '../text/lines.ts';
import { LineScanner } from '../wire/lines.ts';
import { detectFormat, formatNamed, formatOfRecord } from './detect.ts';
import { sightingOf } from './entry.ts';
import { Fold } from './fold.ts';
import { checkHistoryOptions, type HistoryIndexOptions, type HistorySighting } from './history-sighting.ts';
import { locate } from './paths.ts';

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
  /** Bytes of lines that were incomplete at an `end`, so that they must be fed again. */
  #again = 0;
  #format: FormatName | undefined;
  #read: ((record: JsonRecord) => void) | undefined;
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

  /** The transcript's format. Undefined until the first records have determined it. */
  get format(): FormatName | undefined {
    return this.#format;
  }

  /** The byte up to which the index has read the transcript: the end of the last complete line. */
  get offset(): number {
    return this.#scanner.offset - this.#again;
  }

  /** Number of records read. */
  get records(): number {
    return this.#records;
  }

  get skipped(): Resumed['skipped'] {
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
      this.#again += rest.length;
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
    else if (this.#read !== undefined) this.#read(record);
    else this.#tryToOpen(record);
  }

  #tryToOpen(record: JsonRecord): void {
    this.#undecided.push(record);
    const format = formatOfRecord(record);
    if (format !== undefined) this.#open(format.name);
    else if (this.#undecided.length >= MAX_UNDECIDED) this.#decide();
  }

  #decide(): void {
    if (this.#read === undefined && this.#records + this.skipped.count > 0)
      this.#open(detectFormat(this.#undecided));
  }

  #open(name: FormatName): void {
    const format = formatNamed(name);
    this.#format = format.name;
    const read = format.open(this.#fold);
    this.#read = read;
    const records = this.#undecided;
    this.#undecided = [];
    for (const record of records) read(record);
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
