/** Names in each of two generations; the older one is given up as a whole when the newer is full. */
const GENERATION = 4096;
/** At most half full, so that a search ends soon. */
const SLOTS = 2 * GENERATION;
/** The lower half of a key. */
const LOW = 2 ** 26;

/** A record's name, as 52 bits of it: they do not collide by chance. Never 0. */
export type NameKey = number;

/** A generation as plain JSON: keys and places in turn. */
type Flat = readonly number[];

/** Where the last few thousand named records stand. Forgets the oldest: memory does not grow with the transcript. */
export class NameTable {
  #newer = new Generation();
  #older = new Generation();

  get(key: NameKey): number | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: NameKey, place: number): void {
    if (this.#newer.isFull) {
      this.#older = this.#newer;
      this.#newer = new Generation();
    }
    this.#newer.set(key, place);
  }

  clear(): void {
    this.#newer = new Generation();
    this.#older = new Generation();
  }

  state(): readonly [older: Flat, newer: Flat] {
    return [this.#older.flat(), this.#newer.flat()];
  }

  restore([older, newer]: readonly [Flat, Flat]): void {
    this.#older = Generation.from(older);
    this.#newer = Generation.from(newer);
  }
}

/** Open addressing in two arrays: a Map with fractional keys takes ten times as long, and every record asks. */
class Generation {
  readonly #keys = new Float64Array(SLOTS);
  readonly #places = new Int32Array(SLOTS);
  #size = 0;

  static from(flat: Flat): Generation {
    const generation = new Generation();
    for (let at = 0; at + 1 < flat.length; at += 2) generation.set(flat[at] ?? 0, flat[at + 1] ?? 0);
    return generation;
  }

  get isFull(): boolean {
    return this.#size >= GENERATION;
  }

  get(key: NameKey): number | undefined {
    const slot = this.#slotOf(key);
    return this.#keys[slot] === key ? this.#places[slot] : undefined;
  }

  set(key: NameKey, place: number): void {
    const slot = this.#slotOf(key);
    if (this.#keys[slot] !== key) this.#size += 1;
    this.#keys[slot] = key;
    this.#places[slot] = place;
  }

  flat(): Flat {
    const flat: number[] = [];
    for (const [slot, key] of this.#keys.entries()) if (key !== 0) flat.push(key, this.#places[slot] ?? 0);
    return flat;
  }

  /** The slot that holds a key, or the empty one it would go to. */
  #slotOf(key: NameKey): number {
    let slot = (key - Math.floor(key / LOW) * LOW) & (SLOTS - 1);
    while (this.#keys[slot] !== key && this.#keys[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
    return slot;
  }
}

const UUID_LENGTH = 36;

/** The key of a name. Of a uuid the groups at both ends are enough. */
export function keyOf(name: string): NameKey {
  const bytes = Buffer.from(name, 'utf8');
  return bytes.length === UUID_LENGTH
    ? keyAt(bytes, 0)
    : keyBetween(bytes, { start: 0, end: bytes.length }, 0);
}

/** The key of a uuid in bytes, without making a string of it. */
export function keyAt(bytes: Uint8Array, start: number): NameKey {
  const half = keyBetween(bytes, { start, end: start + 8 }, 0);
  return keyBetween(bytes, { start: start + 24, end: start + UUID_LENGTH }, half);
}

/** Two sums of 26 bits with different factors, continued. */
function keyBetween(
  bytes: Uint8Array,
  span: { readonly start: number; readonly end: number },
  key: NameKey,
): NameKey {
  let one = Math.floor(key / LOW);
  let two = key - one * LOW;
  for (let at = span.start; at < span.end; at += 1) {
    const unit = bytes[at] ?? 0;
    one = (Math.imul(one, 31) + unit) & (LOW - 1);
    two = (Math.imul(two, 131) + unit + 1) & (LOW - 1);
  }
  return one * LOW + two || 1;
}
