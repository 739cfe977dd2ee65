/** As much as most files take. */
const ROOM_BYTES = 64 * 1024;

/** Which bytes of a text are taken, and which of these are put in the place of others. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  /** What is replaced lies between `start` and `end`. */
  readonly from: number;
  readonly to: number;
  readonly put: Buffer;
}

/** Room in which texts are put together, the same one every time: allocating it anew costs more than filling it. */
export class SpliceRoom {
  readonly #room: Buffer = Buffer.allocUnsafeSlow(ROOM_BYTES);

  /** A part of a text with some of it replaced; good until the next time. */
  splice(text: Buffer, { start, end, from, to, put }: Splice): Buffer {
    const length = from - start + put.length + end - to;
    const room = length <= this.#room.length ? this.#room : Buffer.allocUnsafe(length);
    text.copy(room, 0, start, from);
    put.copy(room, from - start);
    text.copy(room, from - start + put.length, to, end);
    return room.subarray(0, length);
  }
}
