import { isAscii } from 'node:buffer';
import { Fault } from '../model/fault.ts';
import { isRecord, type JsonRecord, parseJson } from '../model/record.ts';
import type { FormatName, Skipped } from '../model/transcript.ts';
import { viewOf } from '../text/buffer-view.ts';
import { checkHistoryOptions, type HistoryIndexOptions } from './check-options.ts';
import { detectFormat, formatNamed, formatOfRecord } from './detect.ts';
import { sightingOf } from './entry.ts';
import { Fold, type FoldState } from './fold.ts';
import type { Reader } from './format.ts';
import type { HistorySighting } from './history-sighting.ts';
import { LineScanner } from './line-scanner.ts';
import { locate } from './paths.ts';

/** Everything an index knows, as plain JSON; it takes up again at byte `offset` of the transcript. */
export interface HistorySnapshot {
  readonly version: 2;
  readonly format: FormatName | null;
  readonly offset: number;
  readonly records: number;
  readonly fold: FoldState;
  readonly reader: unknown;
}

/** Records to look at before a transcript without any sure mark is taken for what it might be. */
const MAX_UNDECIDED = 200;
const CARRIAGE_RETURN = 13;

/**
 * What the model of a growing transcript has seen: feed it bytes as they are appended, ask it at any time. Feeding a
 * transcript piece by piece gives what feeding it at once gives. Holds hashes and ranges, never contents.
 */
export class HistoryIndex {
  readonly #fold: Fold;
  readonly #countsWrites: boolean;
  readonly #scanner: LineScanner;
  #base = 0;
  #format: FormatName | undefined;
  #reader: Reader | undefined;
  /** Records read before the format was clear. */
  #undecided: JsonRecord[] = [];
  #records = 0;
  /** The last line was not whole when the bytes ended. */
  #incomplete = false;

  constructor(options: HistoryIndexOptions = {}) {
    checkHistoryOptions(options);
    this.#fold = new Fold(options);
    this.#countsWrites = options.counts !== 'reads';
    this.#scanner = new LineScanner(
      (bytes, start, end) => this.#line(bytes, start, end),
      () => this.#fold.skip('line-too-long'),
    );
    if (options.format !== undefined) this.#open(options.format);
  }

  /** Continues where a snapshot was taken: feed it the transcript from `offset` on. Throws CONFIG_INVALID for another version's. */
  static restore(snapshot: HistorySnapshot, options: HistoryIndexOptions = {}): HistoryIndex {
    if (snapshot.version !== 2)
      throw new Fault('CONFIG_INVALID', `a history snapshot of version ${String(snapshot.version)}, not 2`);
    const { format } = snapshot;
    const index = new HistoryIndex(format === null ? options : { ...options, format });
    index.#base = snapshot.offset;
    index.#records = snapshot.records;
    index.#fold.restore(snapshot.fold);
    if (format !== null) index.#reader?.restore(snapshot.reader);
    return index;
  }

  /** Undefined until the first records have shown it. */
  get format(): FormatName | undefined {
    return this.#format;
  }

  /** The byte up to which the transcript is in the index: the end of the last complete line. */
  get offset(): number {
    return this.#base + (this.#reader === undefined ? 0 : this.#scanner.offset);
  }

  /** How many records were taken note of. */
  get records(): number {
    return this.#records;
  }

  get skipped(): Skipped {
    const reasons = { ...this.#fold.reasons, ...(this.#incomplete ? { 'incomplete-line': 1 } : {}) };
    return { count: Object.values(reasons).reduce((sum, count) => sum + count, 0), reasons };
  }

  /** Takes in more bytes of a transcript with one JSON record per line. A line may come in pieces. */
  feed(chunk: Uint8Array): void {
    this.#incomplete = false;
    this.#scanner.scan(viewOf(chunk));
  }

  /** Takes in one record that is parsed already. */
  add(record: unknown): void {
    if (Array.isArray(record)) for (const one of record) this.#add(one);
    else this.#add(record);
  }

  /**
   * No more bytes for now: a last line without a newline is read if it is whole, else left for later. What is fed after
   * this begins at `offset`. Throws CONFIG_INVALID when there was something and none of it fits a known format.
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

  /** Has the model read, or itself written, any of this file since its context was last cleared? Seed document C's question. */
  hasFileBeenRead(path: string): boolean {
    const known = this.#fold.options.paths === 'exact' ? path : this.#place(path);
    return (
      known !== undefined &&
      this.#fold.some(known, ({ view: { how } }) => how === 'read' || (how === 'write' && this.#countsWrites))
    );
  }

  /** What the model has seen of one file, oldest first. */
  seen(path: string): readonly HistorySighting[] {
    const known = this.#place(path);
    return known === undefined ? [] : this.#fold.of(known).map(sightingOf);
  }

  /** All that the model has seen and still has, oldest first. */
  sightings(): readonly HistorySighting[] {
    return this.#fold.entries().map(sightingOf);
  }

  /** Before the format is clear, nothing counts as taken in: `offset` is where to begin again. */
  snapshot(): HistorySnapshot {
    const decided = this.#reader !== undefined;
    return {
      version: 2,
      format: this.#format ?? null,
      offset: this.offset,
      records: decided ? this.#records : 0,
      fold: (decided ? this.#fold : new Fold({})).state(),
      reader: this.#reader?.state() ?? null,
    };
  }

  #place(path: string): string | undefined {
    return locate(path, this.#fold.options.cwd, this.#fold.options);
  }

  #line(bytes: Buffer, start: number, end: number): void {
    if (end === start || (end === start + 1 && bytes[start] === CARRIAGE_RETURN)) return;
    if (this.#reader?.skim !== undefined && !this.#reader.skim(bytes, start, end)) {
      this.#records += 1;
      return;
    }
    if (!this.#tryLine(bytes.subarray(start, end))) this.#fold.skip('not-json');
  }

  #tryLine(line: Buffer): boolean {
    // Most lines are ASCII, of which a string is made in half the time.
    const text = line.toString(isAscii(line) ? 'latin1' : 'utf8');
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

  #open(name: FormatName): void {
    const format = formatNamed(name);
    this.#format = format.name;
    this.#reader = format.open(this.#fold);
    const records = this.#undecided;
    this.#undecided = [];
    for (const record of records) this.#reader.read(record);
  }
}

/** Is this line all there? Half of a record is no JSON; only half of a number is. */
function isWhole(line: Buffer): boolean {
  const text = line.toString('utf8');
  const value = parseJson(text);
  return text.trim() === '' || (value !== undefined && typeof value !== 'number');
}
