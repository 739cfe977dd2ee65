import type { Received } from './received.ts';

/** Answers kept in memory for comparison, all together. */
const MAX_BYTES = 32 * 1024 * 1024;
/** The end of an answer, where many servers write the id; compared without it. */
const TAIL = 256;

interface Known {
  readonly received: Received;
  readonly start: number;
  readonly length: number;
}

/**
 * Answers of which it was established that they show certain bytes, by those bytes. The same answer again needs no second
 * look into it: reading an unchanged file again is common, and comparing answers is far cheaper than comparing contents.
 */
export class KnownAnswers {
  readonly #known = new Map<Uint8Array, Known>();
  #bytes = 0;

  /** True if this answer is, but for its id, the one that was established to show these bytes. */
  has(bytes: Uint8Array, received: Received, start: number): boolean {
    const known = this.#known.get(bytes);
    if (known === undefined) return false;
    const length = lengthOf(received) - start;
    const compared = Math.min(length, known.length) - TAIL;
    if (compared < 0 || Math.abs(length - known.length) > TAIL) return false;
    return (
      withoutId(received.tail) === withoutId(known.received.tail) &&
      samePieces(received.parts, known.received.parts, { start, knownStart: known.start, count: compared })
    );
  }

  keep(bytes: Uint8Array, received: Received, start: number): void {
    const length = lengthOf(received) - start;
    if (length > MAX_BYTES / 4) return;
    this.#drop(bytes);
    this.#known.set(bytes, { received, start, length });
    this.#bytes += length;
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(bytes: Uint8Array): void {
    const known = this.#known.get(bytes);
    if (known === undefined) return;
    this.#known.delete(bytes);
    this.#bytes -= known.length;
  }
}

function lengthOf(received: Received): number {
  return received.parts.reduce((sum, part) => sum + part.length, 0);
}

function withoutId(tail: string): string {
  // From the same distance to the end, whatever the id's own length.
  return tail.replace(/"id"\s*:\s*("[ !#-[\]-~]*"|-?\d+)/, '"id":').slice(-TAIL / 2);
}

/** Compares two texts that are cut at different places. */
function samePieces(
  one: readonly Buffer[],
  two: readonly Buffer[],
  span: { readonly start: number; readonly knownStart: number; readonly count: number },
): boolean {
  let [a, b] = [0, 0];
  let [atA, atB] = [span.start, span.knownStart];
  let left = span.count;
  while (left > 0) {
    const [partA, partB] = [one[a], two[b]];
    if (partA === undefined || partB === undefined) return false;
    const count = Math.min(left, partA.length - atA, partB.length - atB);
    if (partA.compare(partB, atB, atB + count, atA, atA + count) !== 0) return false;
    left -= count;
    atA += count;
    atB += count;
    if (atA === partA.length) [a, atA] = [a + 1, 0];
    if (atB === partB.length) [b, atB] = [b + 1, 0];
  }
  return true;
}
