import type { Writable } from 'node:stream';
import type { Parts } from './outgoing.ts';

/** Up to here one copy costs less than handing the pieces to the stream one by one. */
const JOINED_BYTES = 64 << 10;

/**
 * Lines to a stream. Messages sent in one turn of the event loop leave in one write; each message goes out whole and
 * never mixed with another.
 */
export class Output {
  readonly #stream: Writable;
  #queued: (string | Uint8Array)[] = [];
  #scheduled = false;
  #writing = 0;
  #waiting: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Bytes accepted by `send` and not yet by the reader, nearly: strings count as characters until they are written. */
  get waitingBytes(): number {
    return this.#stream.writableLength + sizeOf(this.#queued);
  }

  /** Queues one message; a newline is added. */
  send(parts: Parts): void {
    this.#queued.push(...parts, '\n');
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(() => this.#write());
  }

  /** Resolves when all that was sent has left the process, or can no longer leave it. */
  async flush(): Promise<void> {
    this.#write();
    if (this.#writing > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #write(): void {
    this.#scheduled = false;
    const parts = this.#queued;
    this.#queued = [];
    if (parts.length === 0 || this.#stream.destroyed) return;
    this.#writing += 1;
    const written = (): void => this.#written();
    if (parts.every((part) => typeof part === 'string')) {
      this.#stream.write(parts.join(''), written);
      return;
    }
    if (sizeOf(parts) <= JOINED_BYTES) {
      const bytes = parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part));
      this.#stream.write(Buffer.concat(bytes), written);
      return;
    }
    const last = parts.length - 1;
    this.#stream.cork();
    parts.forEach((part, index) => {
      this.#stream.write(part, index === last ? written : undefined);
    });
    this.#stream.uncork();
  }

  /** The stream calls back for failed writes too. */
  #written(): void {
    this.#writing -= 1;
    if (this.#writing > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Nearly: strings count as characters. */
function sizeOf(parts: Parts): number {
  let size = 0;
  for (const part of parts) size += part.length;
  return size;
}
