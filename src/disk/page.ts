import { createHash, type Hash } from 'node:crypto';
import { closeSync, fstatSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { type Fingerprint, type Stamp, sameStamp } from '../model/fingerprint.ts';
import { at, type Place } from '../model/path.ts';
import { decodeUtf16, type Utf16Encoding, utf16Of } from '../text/decode.ts';
import type { FileSystemClock } from './file-system.ts';
import { openRegular, stampOf, type Unreadable } from './read.ts';

const readAsync = promisify(read);
const CHUNK_BYTES = 1 << 18;
/** Bytes per read call if the bytes are only hashed. */
const HASHED_BYTES = 1 << 20;
/**
 * Bytes of the first read. This read is synchronous, which takes less time than a trip to the
 * thread pool. Many pages need no second read.
 */
const FIRST_BYTES = 1 << 15;
const NEWLINE = 10;
const UTF16_NEWLINES = { 'utf-16le': Buffer.from([NEWLINE, 0]), 'utf-16be': Buffer.from([0, NEWLINE]) };
/** Bytes at the beginning of a file that show whether the file is UTF-16. */
const SNIFFED_BYTES = 1 << 13;

/** The byte at which a line begins. The next page can start there without counting lines from the top. */
interface LineStart {
  readonly line: number;
  readonly byte: number;
}

interface PageRequest {
  readonly clock: FileSystemClock;
  /** The first line of the page, 1-based. */
  readonly from: number;
  readonly limit: number;
  /** A longer line is cut: only this many bytes of its beginning stay in memory. */
  readonly maxLineBytes: number;
  /**
   * The start of a line at or before `from`, known from an earlier page. The caller must know that
   * the file has not changed since that page was read.
   */
  readonly start?: LineStart;
  /** Reading stops before the next line once the collected lines have this many bytes. */
  readonly maxBytes?: number;
  /** The time at which to stop reading, as `performance.now()`. The page then holds the lines completed so far. */
  readonly deadline?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

/** A line of which only the beginning is kept. */
interface CutLine {
  /** The line number, 1-based. */
  readonly line: number;
  /** UTF-16 units left out, assuming the line is text. */
  readonly missingChars: number;
}

/** Some lines of a file that is too large to load. */
export interface Page {
  /** Each line with its ending, cut at `maxLineBytes`. A cut line lacks its ending. */
  readonly lines: readonly Buffer[];
  readonly from: number;
  /** The encoding of the file if it is UTF-16. Undefined for all other encodings. */
  readonly utf16: Utf16Encoding | undefined;
  readonly cut: readonly CutLine[];
  /** True if the deadline passed before all requested lines were read. */
  readonly gaveUp: boolean;
  /** The number of lines in the file. Known only if the end of the file was reached. */
  readonly totalLines: number | undefined;
  readonly next: LineStart;
  readonly sizeBytes: number;
  /** SHA-256 of the lines' bytes, including the parts that were cut. */
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
    const utf16 = utf16At(opened.fd);
    const collector = new LineCollector(request, utf16);
    let position = request.start?.byte ?? 0;
    request.signal?.throwIfAborted();
    let chunk: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
    let bytesRead = readSync(opened.fd, chunk, 0, FIRST_BYTES, position);
    while (bytesRead > 0) {
      collector.add(chunk.subarray(0, bytesRead));
      position += bytesRead;
      request.onProgress?.(Math.min(position, size), size);
      // An odd number of bytes is the end of a file. Bytes that were appended since would be misread,
      // because a UTF-16 character has two or four bytes.
      if (collector.full || (utf16 !== undefined && bytesRead % 2 !== 0)) break;
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
    return { ...collector.finish(Number(after.size)), utf16, sizeBytes: size, stamp: stampOf(after), racy };
  } finally {
    closeSync(opened.fd);
  }
}

function utf16At(fd: number): Utf16Encoding | undefined {
  const start = Buffer.allocUnsafe(SNIFFED_BYTES);
  return utf16Of(start.subarray(0, readSync(fd, start, 0, SNIFFED_BYTES, 0)));
}

/** The fields of a page that the collected lines determine. */
type Collected = Omit<Page, 'utf16' | 'sizeBytes' | 'stamp' | 'racy'>;

/** Splits chunks into lines and keeps the lines in the requested range. */
class LineCollector {
  readonly #request: PageRequest;
  readonly #utf16: Utf16Encoding | undefined;
  readonly #digest: Hash = createHash('sha256');
  readonly #lines: Buffer[] = [];
  readonly #cut: CutLine[] = [];
  #line: number;
  #byte: number;
  /** The pieces so far of a line that began in an earlier chunk. */
  #pieces: Buffer[] = [];
  #length = 0;
  #missingChars = 0;
  #keptBytes = 0;
  #gaveUp = false;

  constructor(request: PageRequest, utf16: Utf16Encoding | undefined) {
    this.#request = request;
    this.#utf16 = utf16;
    this.#line = request.start?.line ?? 1;
    this.#byte = request.start?.byte ?? 0;
  }

  get full(): boolean {
    const { from, limit, maxBytes } = this.#request;
    return this.#line >= from + limit || (maxBytes !== undefined && this.#keptBytes >= maxBytes);
  }

  /** Stops at the deadline and drops the unfinished line. */
  giveUp(): void {
    this.#gaveUp = true;
    this.#pieces = [];
    this.#length = 0;
  }

  add(chunk: Buffer): void {
    let from = 0;
    /** Offset in this chunk at which the requested lines begin. */
    let kept = this.#isKept ? 0 : chunk.byteLength;
    while (from < chunk.byteLength && !this.full) {
      const ended = this.#lineEnd(chunk, from);
      const end = ended ?? chunk.byteLength;
      this.#take(chunk.subarray(from, end));
      if (ended !== undefined) this.#endLine();
      from = end;
      if (this.#line === this.#request.from && this.#length === 0) kept = end;
    }
    // Hash once per chunk, because each call of `update` has a fixed cost.
    if (kept < from) this.#digest.update(chunk.subarray(kept, from));
  }

  /** The offset after the next newline. Undefined if the chunk has no further newline. */
  #lineEnd(chunk: Buffer, from: number): number | undefined {
    if (this.#utf16 === undefined) {
      const newline = chunk.indexOf(NEWLINE, from);
      return newline < 0 ? undefined : newline + 1;
    }
    const newline = UTF16_NEWLINES[this.#utf16];
    let at = chunk.indexOf(newline, from);
    // At an odd offset, the two bytes belong to two different characters. Chunks begin at even
    // positions of the file.
    while (at >= 0 && at % 2 !== 0) at = chunk.indexOf(newline, at + 1);
    return at < 0 ? undefined : at + newline.byteLength;
  }

  get #isKept(): boolean {
    return this.#line >= this.#request.from;
  }

  finish(size: number): Collected {
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

  /**
   * The lines completed before the deadline. The running hash includes part of the unfinished line,
   * so the hash is computed again from the lines. That is impossible if a line was cut; then no
   * lines are returned.
   */
  #withoutRest(): Collected {
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
      // Copy the bytes: the next read reuses the chunk.
      if (room > 0) this.#pieces.push(Buffer.from(piece.subarray(0, room)));
      const missing = piece.subarray(Math.max(room, 0));
      if (missing.byteLength > 0) this.#missingChars += this.#charsIn(missing);
    }
    this.#length += piece.byteLength;
  }

  #charsIn(bytes: Buffer): number {
    if (this.#utf16 === undefined) return charsIn(bytes);
    return decodeUtf16(bytes, this.#utf16).replace('\n', '').length;
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

/**
 * Number of UTF-16 units that UTF-8 bytes decode to, without the newline. Continuation bytes count
 * 0; lead bytes from 0xf0 count 2.
 */
function charsIn(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80 && byte !== NEWLINE) count += byte >= 0xf0 ? 2 : 1;
  return count;
}

/**
 * Hashes a file in bounded memory. Undefined if the file cannot be opened, or if its stat fields
 * differ from `stamp` before or after reading.
 */
export async function fingerprintIfStill(
  place: Place,
  stamp: Stamp,
  signal?: AbortSignal,
): Promise<Fingerprint | undefined> {
  const opened = openRegular(place);
  if ('problem' in opened) return undefined;
  try {
    if (!sameStamp(stampOf(opened.stats), stamp)) return undefined;
    const digest = createHash('sha256');
    const chunk = Buffer.allocUnsafeSlow(HASHED_BYTES);
    for (let size = 0; ; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await readAsync(opened.fd, chunk, 0, HASHED_BYTES, size);
      digest.update(chunk.subarray(0, bytesRead));
      size += bytesRead;
      if (bytesRead > 0) continue;
      const unchanged = sameStamp(stampOf(fstatSync(opened.fd, { bigint: true })), stamp);
      return unchanged ? { sha256: digest.digest('hex'), size } : undefined;
    }
  } finally {
    closeSync(opened.fd);
  }
}
