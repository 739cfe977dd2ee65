import { type OpenedFiles, type RipgrepEvent, RipgrepRecords, readEvent } from '../disk/ripgrep-records.ts';
import type { SearchResult } from '../model/results.ts';

type Hit = SearchResult['hits'][number];

/** Limit for all lines of an answer. With the default match limit, only long context reaches it. */
const MAX_SHOWN_CHARS = 200_000;

/** Parses ripgrep's output about opened files in one mode, until the limit is reached. */
export interface HitReader {
  /** Begins another run over other files. */
  begin(files: OpenedFiles): void;
  take(chunk: Buffer): 'more' | 'enough';
  /** True if some matches were left out. */
  readonly cut: boolean;
  readonly hits: readonly Hit[];
  readonly matches: number;
}

/** Creates the parser for a mode. `show` masks a line of a file. */
export function hitReader(
  mode: SearchResult['mode'],
  { limit, show }: { readonly limit: number; show(line: string, path: string): string },
): HitReader {
  switch (mode) {
    case 'lines':
      return new LineHits(limit, show);
    case 'files':
      return new FileHits(limit, /^([^\0]*)\0/);
    case 'count':
      return new FileHits(limit, /^([^\0]*)\0(\d+)\n/);
    default:
      return mode satisfies never;
  }
}

class LineHits implements HitReader {
  cut = false;
  matches = 0;
  readonly #limit: number;
  readonly #lines: { readonly hit: Hit; readonly end: number }[] = [];
  #files: OpenedFiles | undefined;
  #records = new RipgrepRecords('\n');
  #chars = 0;
  /** Index of the current file's first line. */
  #start = 0;

  readonly #show: (line: string, path: string) => string;

  constructor(limit: number, show: (line: string, path: string) => string) {
    this.#limit = limit;
    this.#show = show;
  }

  get hits(): readonly Hit[] {
    return this.#lines.map(({ hit }) => hit);
  }

  begin(files: OpenedFiles): void {
    this.#files = files;
    this.#records = new RipgrepRecords('\n');
    this.#start = this.#lines.length;
  }

  take(chunk: Buffer): 'more' | 'enough' {
    const { dropped } = this.#records;
    for (const record of this.#records.take(chunk)) {
      const event = readEvent(record);
      if (event?.kind === 'end') this.#endFile(event.binaryOffset);
      else if (event !== undefined && !this.#add(event)) return 'enough';
    }
    if (this.#records.dropped > dropped) this.cut = true;
    return 'more';
  }

  #add(event: Extract<RipgrepEvent, { kind: 'line' }>): boolean {
    const path = this.#files?.shown(event.file);
    if (path === undefined) return true;
    const last = this.#lines.at(-1)?.hit;
    // At the limit, only lines directly after the last match are its context; later context belongs to another match.
    const follows = event.context && last?.path === path && last.line + 1 === event.line;
    const full = this.matches === this.#limit && !follows;
    if (full || this.#chars + event.text.length > MAX_SHOWN_CHARS) {
      this.cut = true;
      return false;
    }
    this.#chars += event.text.length;
    if (!event.context) this.matches += 1;
    const hit = {
      path,
      line: event.line,
      text: this.#show(event.text, path),
      ...(event.context ? { context: true } : {}),
    };
    this.#lines.push({ hit, end: event.end });
    return true;
  }

  /** A file is not text from its first NUL on, so later lines are not shown. */
  #endFile(binaryOffset: number | undefined): void {
    if (binaryOffset !== undefined) {
      const lines = this.#lines.splice(this.#start);
      this.#lines.push(...lines.filter(({ end }) => end <= binaryOffset));
      const left = lines.filter(({ hit, end }) => end > binaryOffset && hit.context !== true).length;
      this.matches -= left;
      this.cut ||= left > 0;
    }
    this.#start = this.#lines.length;
  }
}

/** Parses one hit per file: `path NUL`, or `path NUL count newline`. */
class FileHits implements HitReader {
  cut = false;
  matches = 0;
  readonly hits: Hit[] = [];
  readonly #limit: number;
  readonly #shape: RegExp;
  #files: OpenedFiles | undefined;
  #text = '';

  constructor(limit: number, shape: RegExp) {
    this.#limit = limit;
    this.#shape = shape;
  }

  begin(files: OpenedFiles): void {
    this.#files = files;
    this.#text = '';
  }

  take(chunk: Buffer): 'more' | 'enough' {
    this.#text += chunk.toString('utf8');
    for (let found = this.#shape.exec(this.#text); found !== null; found = this.#shape.exec(this.#text)) {
      this.#text = this.#text.slice(found[0].length);
      const path = this.#files?.shown(found[1] ?? '');
      if (path === undefined) continue;
      if (this.hits.length === this.#limit) {
        this.cut = true;
        return 'enough';
      }
      const count = found[2] === undefined ? undefined : Number(found[2]);
      this.matches += count ?? 1;
      this.hits.push({ path, line: 0, text: '', ...(count === undefined ? {} : { count }) });
    }
    return 'more';
  }
}
