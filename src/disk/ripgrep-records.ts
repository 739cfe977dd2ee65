import { randomUUID } from 'node:crypto';
import { closeSync, lstatSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unlessErrno } from '../model/fault.ts';
import { at, type PinnedDirectory, type Place } from '../model/path.ts';
import { withoutEnding } from '../text/lines.ts';
import { type MaskedText, unmasked } from '../text/secrets.ts';
import { openRegular, type Unreadable } from './read.ts';

const MAX_RECORD_BYTES = 64 << 20;

/**
 * Splits a stream into records that end in a given byte. An unfinished record waits for the next
 * chunk. Drops and counts records over 64 MB: they can only be lines too long to show.
 */
export class RipgrepRecords {
  dropped = 0;
  readonly #end: string;
  readonly #maxBytes: number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropping = false;

  constructor(end: '\0' | '\n', maxBytes: number = MAX_RECORD_BYTES) {
    this.#end = end;
    this.#maxBytes = maxBytes;
  }

  /** The records that end in this chunk, without their end byte. Bytes that are not UTF-8 become U+FFFD. */
  take(chunk: Buffer): string[] {
    const last = chunk.lastIndexOf(this.#end);
    if (last < 0) {
      this.#wait(chunk);
      return [];
    }
    const bytes = Buffer.concat([...this.#waiting, chunk.subarray(0, last)]);
    const records = bytes.toString('utf8').split(this.#end);
    if (this.#dropping) records.shift();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#dropping = false;
    if (last + 1 < chunk.byteLength) this.#wait(chunk.subarray(last + 1));
    return records;
  }

  #wait(bytes: Buffer): void {
    if (this.#dropping) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.byteLength;
    if (this.#waitingBytes <= this.#maxBytes) return;
    this.#waiting = [];
    this.#dropping = true;
    this.dropped += 1;
  }
}

const MAX_LINE_CHARS = 500;
/** Maximum characters of a cut line that are shown before its match. */
const LEAD_CHARS = 150;

/** The parts of `rg --json` output that we show. */
type RipgrepEvent =
  | {
      readonly kind: 'line';
      readonly file: string;
      readonly line: number;
      readonly text: string;
      readonly context: boolean;
      /**
       * The offset of the line's end from the start of the file, in bytes of the text that ripgrep
       * decoded.
       */
      readonly end: number;
    }
  | { readonly kind: 'end'; readonly file: string; readonly binaryOffset: number | undefined };

/** UTF-8 text, or base64 for other bytes. */
type Data = { readonly text: string } | { readonly bytes: string };

interface Message {
  readonly type: string;
  readonly data: {
    readonly path?: Data;
    readonly lines?: Data;
    readonly line_number?: number;
    readonly absolute_offset?: number;
    readonly binary_offset?: number | null;
    readonly submatches?: readonly { readonly start: number }[];
  };
}

/** Masks the secrets in a line. */
type Mask = (line: string) => MaskedText;

/**
 * Parses one line of `rg --json`; undefined for message types we do not use. `maskFor` returns the
 * function that masks secrets in the lines of a file. Default: nothing is masked.
 */
export function readEvent(
  record: string,
  maskFor: (file: string) => Mask = () => unmasked,
): RipgrepEvent | undefined {
  // Ripgrep documents the format; it has been stable since version 11.
  const { type, data } = JSON.parse(record) as Message;
  const file = data.path === undefined ? '' : bytesOf(data.path).toString('utf8');
  if (type === 'end') return { kind: 'end', file, binaryOffset: data.binary_offset ?? undefined };
  if ((type !== 'match' && type !== 'context') || data.lines === undefined) return undefined;
  const bytes = bytesOf(data.lines);
  return {
    kind: 'line',
    file,
    line: data.line_number ?? 0,
    text: excerpt(bytes, data.submatches?.[0]?.start ?? 0, maskFor(file)),
    context: type === 'context',
    end: (data.absolute_offset ?? 0) + bytes.byteLength,
  };
}

function bytesOf(data: Data): Buffer {
  return 'text' in data ? Buffer.from(data.text, 'utf8') : Buffer.from(data.bytes, 'base64');
}

/**
 * A line without its ending, with secrets masked. A long line is cut to the part around byte
 * `around`, with `…` at each cut. The line is masked before it is cut, because a cut can remove the
 * text by which a secret is recognised.
 */
export function excerpt(bytes: Buffer, around: number, mask: Mask = unmasked): string {
  const { text, offsetOf } = mask(withoutEnding(bytes.toString('utf8')));
  if (text.length <= MAX_LINE_CHARS) return text;
  const match = offsetOf(bytes.toString('utf8', 0, around).length);
  const from = wholeFrom(text, Math.max(0, Math.min(match - LEAD_CHARS, text.length - MAX_LINE_CHARS)));
  const to = wholeFrom(text, Math.min(text.length, from + MAX_LINE_CHARS));
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
}

/** Moves an index back if it would split a surrogate pair. */
function wholeFrom(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}

/**
 * Number of files kept in addition to the requested ones: they replace files that later turn out to
 * be hidden from the caller.
 */
const SPARE = 1000;

/**
 * Keeps the newest of any number of files, by modification time, then name. Use the result only for ordering: the
 * stat call may follow a link on the file's path and so report the time of another file.
 */
export class NewestFiles {
  /** The number of files that were dropped because newer ones filled the list. */
  cut = 0;
  /** The number of files that no caller can name, because the name is not UTF-8 or a folder above is not readable. */
  unreachable = 0;
  /** The number of added files that exist, including the dropped and the unreachable ones. */
  found = 0;
  readonly #dir: PinnedDirectory;
  readonly #keep: number;
  #files: Dated[] = [];
  #oldestMs = Number.NEGATIVE_INFINITY;

  constructor(dir: PinnedDirectory, wanted: number, spare: number = SPARE) {
    this.#dir = dir;
    this.#keep = wanted + spare;
  }

  /** Adds files. The paths are relative to the folder that the constructor got. */
  add(paths: readonly string[]): void {
    const prefix = this.#dir.prefix;
    for (const path of paths) {
      const mtimeMs = mtimeOf(`${prefix}/${path}`);
      if (mtimeMs === 'gone') continue;
      this.found += 1;
      if (mtimeMs === undefined) this.unreachable += 1;
      else if (mtimeMs >= this.#oldestMs) this.#files.push({ path, mtimeMs });
      else this.cut += 1;
    }
    if (this.#files.length > 4 * this.#keep) this.#trim();
  }

  /** The kept paths, newest first. */
  newest(): readonly string[] {
    this.#trim();
    return this.#files.map(({ path }) => path);
  }

  #trim(): void {
    this.#files.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1));
    this.cut += Math.max(0, this.#files.length - this.#keep);
    this.#files.length = Math.min(this.#files.length, this.#keep);
    if (this.#files.length === this.#keep) this.#oldestMs = this.#files.at(-1)?.mtimeMs ?? this.#oldestMs;
  }
}

interface Dated {
  readonly path: string;
  readonly mtimeMs: number;
}

/**
 * The modification time of a file. `gone`: the file no longer exists. Undefined: the path cannot be
 * reached, for example because a name is not UTF-8.
 */
function mtimeOf(path: string): number | 'gone' | undefined {
  return unlessErrno(() => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.mtimeMs ?? (path.includes('\uFFFD') ? undefined : 'gone');
  });
}

const FIRST_FD = 3;
const MAX_COPY_BYTES = 32 << 20;

/**
 * Files held open for a search, so that ripgrep reads exactly these files even if their names
 * change. `handles`: ripgrep gets the descriptors; `paths`: it gets the names, where the system
 * does not support descriptors.
 */
export class OpenedFiles {
  readonly #how: 'handles' | 'paths';
  readonly #descriptors: number[] = [];
  readonly #copies = new Set<string>();
  /** Copies that still have a name. */
  readonly #named: string[] = [];
  readonly #shown = new Map<string, string>();

  constructor(how: 'handles' | 'paths') {
    this.#how = how;
  }

  /**
   * Opens one more file. `shown` is its name in the results. If `visible` returns other bytes for a file of at most
   * `MAX_COPY_BYTES`, a copy with these is searched instead.
   */
  open(place: Place, shown: string, visible: (bytes: Buffer) => Uint8Array): Unreadable | undefined {
    const opened = openRegular(place);
    if ('problem' in opened) return opened;
    const copy = opened.stats.size > MAX_COPY_BYTES ? undefined : this.#copyOf(opened.fd, visible);
    if (copy !== undefined) closeSync(opened.fd);
    const argument =
      this.#how === 'handles'
        ? `/proc/self/fd/${FIRST_FD + this.#descriptors.length}`
        : (copy?.path ?? at(place));
    this.#descriptors.push(copy?.fd ?? opened.fd);
    if (copy !== undefined) this.#copies.add(argument);
    this.#shown.set(argument, shown);
    return undefined;
  }

  #copyOf(fd: number, visible: (bytes: Buffer) => Uint8Array): { fd: number; path: string } | undefined {
    const bytes = readFileSync(fd);
    const shown = visible(bytes);
    if (shown === bytes) return undefined;
    const path = join(tmpdir(), `lookfirst-search-${randomUUID()}`);
    const copy = openSync(path, 'wx+', 0o600);
    if (this.#how === 'handles') unlinkSync(path);
    else this.#named.push(path);
    for (let done = 0; done < shown.byteLength; ) done += writeSync(copy, shown, done);
    return { fd: copy, path };
  }

  /** The paths to pass to ripgrep, in the order in which the files were opened. */
  get arguments(): readonly string[] {
    return [...this.#shown.keys()];
  }

  get descriptors(): readonly number[] {
    return this.#how === 'handles' ? this.#descriptors : [];
  }

  /** True if a copy is searched in place of the file. */
  isCopy(argument: string): boolean {
    return this.#copies.has(argument);
  }

  /** The name to show for a file, given the argument by which ripgrep names it. */
  shown(argument: string): string | undefined {
    return this.#shown.get(argument);
  }

  close(): void {
    for (const fd of this.#descriptors.splice(0)) closeSync(fd);
    for (const path of this.#named.splice(0)) unlinkSync(path);
  }
}
