import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf, isMissing, unlessErrno } from '../model/fault.ts';
import { isRecord } from '../model/record.ts';
import { KEPT_MS } from './layer.ts';

/** The number of bytes of one command's output that are kept on disk; later bytes are counted and dropped. */
const MAX_KEPT_BYTES = 64 << 20;
/**
 * An answer shows at most this many bytes of the beginning of a long output, and `TAIL_BYTES` of
 * its end. The end gets more, because it shows how the command finished.
 */
const HEAD_BYTES = 10_000;
const TAIL_BYTES = 20_000;

/** A command's output, cut to a size that fits into an answer. */
export interface ShownOutput {
  /** The whole output, or its beginning. */
  readonly head: string;
  /** The end of the output; absent if `head` is the whole output. */
  readonly tail?: string;
  readonly bytes: number;
  /** The number of bytes between head and tail. */
  readonly cutBytes: number;
  /**
   * The id under which the whole output can be read. Absent if nothing was cut, or if the output
   * could not be stored.
   */
  readonly kept?: string;
}

/**
 * Collects a command's output: head and tail in memory, and the whole output in a file once it no
 * longer fits into an answer.
 */
export class KeptOutput {
  readonly #home: string;
  readonly #id: string;
  readonly #session: string;
  #bytes = 0;
  /** The whole output while it fits into an answer; afterwards only its beginning. */
  #head: Buffer[] = [];
  #tail = Buffer.alloc(0);
  /**
   * The descriptor of the file that stores the output. Undefined while the output fits into an
   * answer; `failed` if the file could not be written.
   */
  #file: number | 'failed' | undefined;

  constructor(home: string, { id, session }: { readonly id: string; readonly session: string }) {
    this.#home = home;
    this.#id = id;
    this.#session = session;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.byteLength;
    if (this.#file === undefined && this.#bytes <= HEAD_BYTES + TAIL_BYTES) {
      this.#head.push(chunk);
      return;
    }
    if (this.#file === undefined) this.#overflow(chunk);
    else this.#continue(chunk);
  }

  /** Closes the output file and returns the part of the output that an answer shows. */
  end(): ShownOutput {
    const bytes = this.#bytes;
    if (this.#file === undefined)
      return { head: Buffer.concat(this.#head).toString('utf8'), bytes, cutBytes: 0 };
    const kept = this.#file === 'failed' ? {} : { kept: this.#id };
    if (this.#file !== 'failed') closeSync(this.#file);
    const head = upToLine(Buffer.concat(this.#head));
    const tail = fromLine(this.#tail);
    return {
      head: head.toString('utf8'),
      tail: tail.toString('utf8'),
      bytes,
      cutBytes: bytes - head.byteLength - tail.byteLength,
      ...kept,
    };
  }

  #overflow(chunk: Buffer): void {
    const all = Buffer.concat([...this.#head, chunk]);
    this.#file = this.#attempt(() => this.#open());
    this.#head = [Buffer.from(all.subarray(0, HEAD_BYTES))];
    this.#keep(all, 0);
    this.#tail = Buffer.from(all.subarray(HEAD_BYTES)).subarray(-TAIL_BYTES);
  }

  #continue(chunk: Buffer): void {
    this.#keep(chunk, this.#bytes - chunk.byteLength);
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
  }

  #keep(bytes: Buffer, already: number): void {
    const room = MAX_KEPT_BYTES - already;
    const file = this.#file;
    if (typeof file !== 'number' || room <= 0) return;
    const part = bytes.subarray(0, room);
    this.#file = this.#attempt(() => {
      for (let done = 0; done < part.byteLength; ) done += writeSync(file, part, done);
      return file;
    });
    if (this.#file === 'failed') this.#discard(file);
  }

  /** Removes a partly written output, which may be the reason why the disk is full. */
  #discard(file: number): void {
    closeSync(file);
    for (const name of [this.#id, `${this.#id}.json`])
      unlessErrno(() => unlinkSync(join(this.#home, 'outputs', name)));
  }

  #open(): number {
    const folder = join(this.#home, 'outputs');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, `${this.#id}.json`), JSON.stringify({ session: this.#session }), {
      flag: 'wx',
      mode: 0o600,
    });
    return openSync(join(folder, this.#id), 'wx', 0o600);
  }

  /**
   * Opens or writes the output file by calling `work`, and returns its descriptor. Returns `failed`
   * if the output cannot be stored, for example on a full disk. The command then continues, and
   * only head and tail of its output remain.
   */
  #attempt(work: () => number): number | 'failed' {
    try {
      return work();
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return 'failed';
    }
  }
}

/** The bytes without the incomplete last line. If there is only one line, without an incomplete last character. */
function upToLine(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(0x0a);
  return bytes.subarray(0, end < 0 ? lastCharacterEnd(bytes) : end + 1);
}

function fromLine(bytes: Buffer): Buffer {
  const start = bytes.indexOf(0x0a);
  const isOneLine = start < 0 || start === bytes.byteLength - 1;
  return bytes.subarray(isOneLine ? firstCharacterStart(bytes) : start + 1);
}

/** The longest UTF-8 character has this many bytes after its first. */
const MAX_CONTINUED = 3;

/** The end of the last complete UTF-8 character. */
function lastCharacterEnd(bytes: Buffer): number {
  const last = bytes.byteLength - 1;
  let at = last;
  while (at > last - MAX_CONTINUED && isContinuation(bytes[at])) at -= 1;
  const first = bytes[at] ?? 0;
  const size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return last - at + 1 < size ? at : bytes.byteLength;
}

/** The start of the first complete UTF-8 character. */
function firstCharacterStart(bytes: Buffer): number {
  let at = 0;
  while (at < MAX_CONTINUED && isContinuation(bytes[at])) at += 1;
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** The stored output of one of this session's commands; undefined if there is none with this id. */
export function readKeptOutput(
  home: string,
  { id, session }: { readonly id: string; readonly session: string },
): Buffer | undefined {
  if (!/^[a-z0-9]+$/.test(id)) return undefined;
  const file = join(home, 'outputs', id);
  try {
    const owner: unknown = JSON.parse(readFileSync(`${file}.json`, 'utf8'));
    if (!isRecord(owner) || owner['session'] !== session) return undefined;
    return readFileSync(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The files of outputs that are older than `KEPT_MS`. */
export function expiredOutputs(home: string, nowMs: number): readonly string[] {
  const folder = join(home, 'outputs');
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  const isOver = (path: string): boolean =>
    nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs) >= KEPT_MS;
  return names.map((name) => join(folder, name)).filter(isOver);
}
