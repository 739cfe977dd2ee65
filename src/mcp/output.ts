import type { Writable } from 'node:stream';
import { JsonText } from '../wire/json-text.ts';
import { type Parts, writeParts } from './outgoing.ts';

/** Room for the answers of one turn; larger ones are made when they are needed. */
const ROOM_BYTES = 16 << 10;
/** More messages do not wait for each other: who reads them may begin while we answer the rest. */
const MAX_TOGETHER = 8;
/** Larger rooms are given up after use. */
const MAX_KEPT_BYTES = 2 << 20;
const MAX_KEPT = 2;

/**
 * Lines to a stream. Messages sent in one turn of the event loop leave in one write; each message goes out whole and
 * never mixed with another. The room they are written into is used again once the stream is done with it: memory that is
 * new for every message costs more than all of its text.
 */
export class Output {
  readonly #stream: Writable;
  readonly #free: JsonText[] = [];
  #filling: JsonText | undefined;
  #messages = 0;
  #writing = 0;
  #waiting: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Bytes accepted by `send` and not yet by the reader. */
  get waitingBytes(): number {
    return this.#stream.writableLength + (this.#filling?.length ?? 0);
  }

  /** Queues one message; a newline is added. */
  send(parts: Parts): void {
    let room = this.#filling;
    if (room === undefined) {
      room = this.#free.pop() ?? new JsonText(ROOM_BYTES);
      this.#filling = room;
      process.nextTick(() => this.#write());
    }
    const before = room.length;
    try {
      writeParts(parts, room);
      room.json('\n');
    } catch (error) {
      // Half a message would make the next one unreadable too.
      room.cut(before);
      throw error;
    }
    this.#messages += 1;
    if (this.#messages === MAX_TOGETHER) this.#write();
  }

  /** Resolves when all that was sent has left the process, or can no longer leave it. */
  async flush(): Promise<void> {
    this.#write();
    if (this.#writing > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #write(): void {
    const room = this.#filling;
    this.#filling = undefined;
    this.#messages = 0;
    if (room === undefined || this.#stream.destroyed) return;
    this.#writing += 1;
    this.#stream.write(room.finish(), () => this.#written(room));
  }

  /** The stream calls back for failed writes too. */
  #written(room: JsonText): void {
    if (room.capacity <= MAX_KEPT_BYTES && this.#free.length < MAX_KEPT) {
      room.cut(0);
      this.#free.push(room);
    }
    this.#writing -= 1;
    if (this.#writing > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
