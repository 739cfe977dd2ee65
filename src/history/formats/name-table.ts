/** Number of names in each of two generations. When the newer one is full, the older one is dropped as a whole. */
const GENERATION = 4096;
/** The table is at most half full, so that searches are short. */
const SLOTS = 2 * GENERATION;
/** A key combines two numbers of 31 and 21 bits. */
const LOW = 2 ** 21;

/** 52 bits of the hash of a record's name, enough to avoid accidental collisions. Never 0. */
export type NameKey = number;

/** A generation as plain JSON: alternating keys and positions. */
type Flat = readonly number[];

/**
 * Positions of the last few thousand named records. It forgets the oldest, so that memory does not grow with the
 * transcript.
 */
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

/**
 * Open addressing in two arrays. A Map with fractional keys takes ten times as long, and every record needs a
 * lookup.
 */
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

  /** The slot of a key, or the empty slot where it would be stored. */
  #slotOf(key: NameKey): number {
    let slot = (key / LOW) & (SLOTS - 1);
    while (this.#keys[slot] !== key && this.#keys[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
    return slot;
  }
}

const UUID_LENGTH = 36;

/** Computes the key of a name. */
export function keyOf(name: string): NameKey {
  const bytes = Buffer.from(name, 'utf8');
  if (bytes.length === UUID_LENGTH) return keyAt(bytes, 0);
  let [one, two] = [0x811c9dc5, 0x1b873593];
  for (const unit of bytes) {
    one = Math.imul(one ^ unit, 0x01000193);
    two = Math.imul(two ^ unit, 0x5bd1e995);
  }
  return joined(mixed(one), mixed(two));
}

/** Mixes all bits, because short names differ in few bits and a key drops some. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/** Computes the key of a uuid directly from bytes, four digits at a time, from the groups at both ends. */
export function keyAt(bytes: Uint8Array, at: number): NameKey {
  const a = fourAt(bytes, at);
  const b = fourAt(bytes, at + 4);
  const c = fourAt(bytes, at + 24);
  const d = fourAt(bytes, at + 28);
  const e = fourAt(bytes, at + 32);
  const one = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca77) ^ Math.imul(d, 0xc2b2ae3d);
  const two = Math.imul(c, 0x27d4eb2f) ^ Math.imul(e, 0x165667b1) ^ Math.imul(b, 0x9e3779b1);
  return joined(one ^ (one >>> 15), two ^ (two >>> 13));
}

function fourAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  );
}

function joined(one: number, two: number): NameKey {
  return (one >>> 1) * LOW + ((two >>> 11) & (LOW - 1)) || 1;
}
