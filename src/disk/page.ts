import { createHash, type Hash } from 'node:crypto';
import { closeSync, fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { type Stamp, sameStamp } from '../model/fingerprint.ts';
import { at, type Place } from '../model/path.ts';
import type { FileSystemClock } from './clock.ts';
import { openRegular, type Unreadable } from './read.ts';
import { stampOf } from './stats.ts';

const readAsync = promisify(read);
const CHUNK_BYTES = 1 << 18;
/** Many pages lie within so much, which is here before another thread could be asked for it. */
const FIRST_BYTES = 1 << 15;
const NEWLINE = 10;

/** Where a line begins; lets the next page start without counting lines from the top. */
export interface LineStart {
  readonly line: number;
  readonly byte: number;
}

export interface PageRequest {
  readonly clock: FileSystemClock;
  /** First line, 1-based. */
  readonly from: number;
  readonly limit: number;
  /** Of longer lines only the beginning is kept in memory. */
  readonly maxLineBytes: number;
  /** A known start at or before `from`, of the same stamp. */
  readonly start?: LineStart;
  /** No further line is begun after so many bytes. */
  readonly maxBytes?: number;
  /** Reading ends after this, on the clock of `performance.now()`; lines that are complete by then are the page. */
  readonly deadline?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

/** A line of which only the beginning was kept. */
interface CutLine {
  /** 1-based. */
  readonly line: number;
  /** How much was left out, in UTF-16 units, if it is text. */
  readonly missingChars: number;
}

/** Some lines of a file too large to load. */
export interface Page {
  /** Each line with its own ending, cut at `maxLineBytes`; of one that is cut the ending is gone, too. */
  readonly lines: readonly Buffer[];
  readonly from: number;
  readonly cut: readonly CutLine[];
  /** There was no time to read all that was asked for. */
  readonly gaveUp: boolean;
  /** Known only if the end of the file was reached. */
  readonly totalLines: number | undefined;
  readonly next: LineStart;
  readonly sizeBytes: number;
  /** SHA-256 of the lines' bytes, cut ones included in full. */
  readonly sha256: string;
  readonly stamp: Stamp;
  readonly racy: boolean;
}

/** Reads a range of lines in bounded memory, without hashing or counting the rest of the file. */
export async function readPage(place: Place, request: PageRequest): Promise<Page | Unreadable> {
  const opened = openRegular(place);
  if ('problem' in opened) return opened;
  try {
    const size = Number(opened.stats.size);
    const racyBefore = request.clock.isRacy(opened.stats, at(place));
    const collector = new LineCollector(request);
    let position = request.start?.byte ?? 0;
    request.signal?.throwIfAborted();
    let chunk: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
    let bytesRead = readSync(opened.fd, chunk, 0, FIRST_BYTES, position);
    while (bytesRead > 0) {
      collector.add(chunk.subarray(0, bytesRead));
      position += bytesRead;
      request.onProgress?.(Math.min(position, size), size);
      if (collector.full) break;
      if (request.deadline !== undefined && performance.now() > request.deadline) {
        collector.giveUp();
        break;
      }
      request.signal?.throwIfAborted();
      if (chunk.byteLength < CHUNK_BYTES) chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      ({ bytesRead } = await readAsync(opened.fd, chunk, 0, CHUNK_BYTES, position));
    }
    const after = fstatSync(opened.fd, { bigint: true });
    const racy = racyBefore || !sameStamp(stampOf(opened.stats), stampOf(after));
    return { ...collector.finish(Number(after.size)), sizeBytes: size, stamp: stampOf(after), racy };
  } finally {
    closeSync(opened.fd);
  }
}

/** Splits chunks into lines and keeps those of the range. */
class LineCollector {
  readonly #request: PageRequest;
  readonly #digest: Hash = createHash('sha256');
  readonly #lines: Buffer[] = [];
  readonly #cut: CutLine[] = [];
  #line: number;
  #byte: number;
  /** Pieces of the line that began in an earlier chunk, and its length so far. */
  #pieces: Buffer[] = [];
  #length = 0;
  #missingChars = 0;
  #keptBytes = 0;
  #gaveUp = false;

  constructor(request: PageRequest) {
    this.#request = request;
    this.#line = request.start?.line ?? 1;
    this.#byte = request.start?.byte ?? 0;
  }

  get full(): boolean {
    const { from, limit, maxBytes } = this.#request;
    return this.#line >= from + limit || (maxBytes !== undefined && this.#keptBytes >= maxBytes);
  }

  /** There is no time to read on: the line that was begun is left out. */
  giveUp(): void {
    this.#gaveUp = true;
    this.#pieces = [];
    this.#length = 0;
  }

  add(chunk: Buffer): void {
    let from = 0;
    /** Where the range begins in this chunk. */
    let kept = this.#isKept ? 0 : chunk.byteLength;
    while (from < chunk.byteLength && !this.full) {
      const newline = chunk.indexOf(NEWLINE, from);
      const end = newline < 0 ? chunk.byteLength : newline + 1;
      this.#take(chunk.subarray(from, end));
      if (newline >= 0) this.#endLine();
      from = end;
      if (this.#line === this.#request.from && this.#length === 0) kept = end;
    }
    // Once for all its lines: the hash is asked for a page as often as for a line.
    if (kept < from) this.#digest.update(chunk.subarray(kept, from));
  }

  get #isKept(): boolean {
    return this.#line >= this.#request.from;
  }

  finish(size: number): Omit<Page, 'sizeBytes' | 'stamp' | 'racy'> {
    if (!this.full && this.#length > 0) this.#endLine();
    const atEnd = !this.full || this.#byte === size;
    if (this.#gaveUp) return this.#withoutRest();
    return {
      lines: this.#lines,
      from: this.#request.from,
      gaveUp: false,
      cut: this.#cut,
      totalLines: atEnd ? this.#line - 1 : undefined,
      next: { line: this.#line, byte: this.#byte },
      sha256: this.#digest.digest('hex'),
    };
  }

  /** The hash has taken in a part of the line that is left out, so it is made anew; of cut lines it cannot be. */
  #withoutRest(): Omit<Page, 'sizeBytes' | 'stamp' | 'racy'> {
    const lines = this.#cut.length === 0 ? this.#lines : [];
    return {
      lines,
      from: this.#request.from,
      gaveUp: true,
      cut: [],
      totalLines: undefined,
      next: { line: this.#line, byte: this.#byte },
      sha256: createHash('sha256').update(Buffer.concat(lines)).digest('hex'),
    };
  }

  #take(piece: Buffer): void {
    if (this.#isKept) {
      const room = this.#request.maxLineBytes - this.#length;
      // Copied: the chunk is filled again by the next read.
      if (room > 0) this.#pieces.push(Buffer.from(piece.subarray(0, room)));
      if (room < piece.byteLength) this.#missingChars += charsIn(piece.subarray(Math.max(room, 0)));
    }
    this.#length += piece.byteLength;
  }

  #endLine(): void {
    if (this.#isKept) {
      const [first, ...more] = this.#pieces;
      const line = first !== undefined && more.length === 0 ? first : Buffer.concat(this.#pieces);
      this.#lines.push(line);
      this.#keptBytes += line.byteLength;
      if (this.#length > this.#request.maxLineBytes)
        this.#cut.push({ line: this.#line, missingChars: this.#missingChars });
    }
    this.#byte += this.#length;
    this.#line += 1;
    this.#pieces = [];
    this.#length = 0;
    this.#missingChars = 0;
  }
}

/** Without the line's end. A character begins with a byte that continues none, and is two units from 0xf0 on. */
function charsIn(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80 && byte !== NEWLINE) count += byte >= 0xf0 ? 2 : 1;
  return count;
}
