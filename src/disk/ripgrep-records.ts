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
