/**
 * The kind of a record. `message`: a prompt or an answer; if it names an earlier parent, the
 * conversation goes back there. `result`: the result of a tool call. `aside`: a record beside the
 * conversation, such as a progress report.
 */
export type LinkKind = 'message' | 'result' | 'aside';

export interface RecordChainState {
  readonly log: BranchState;
  readonly places: readonly [readonly number[], readonly number[]];
  readonly runStart: number;
}

/** The tree of a transcript whose records name their parent. */
export class RecordChain {
  /**
   * True if the last linked record names an unknown parent. Earlier records may then belong to
   * another conversation.
   */
  isAdrift = false;
  readonly #log = new BranchLog();
  readonly #places = new NameTable();
  /**
   * The key of the last record. Most new records name it as their parent, and then need no search
   * in `#places`.
   */
  #tipKey: NameKey | undefined;
  /**
   * Position of the last record that is not a tool result. The results of parallel calls follow it,
   * and the next message may name any of them as its parent. So a message whose parent is at this
   * position or later continues the conversation instead of going back.
   */
  #runStart = 0;

  get tip(): number {
    return this.#log.tip;
  }

  holds(place: number): boolean {
    return place < 0 || this.#log.holds(place);
  }

  knows(key: NameKey): boolean {
    return this.#places.get(key) !== undefined;
  }

  /**
   * Links a record to its parent and returns its position. `parent` is null for the first record of
   * a conversation. Sets `isAdrift` to true if a message or result names an unknown parent,
   * otherwise to false.
   */
  link(parent: NameKey | null, kind: LinkKind, key: NameKey): number {
    this.isAdrift = false;
    const place = this.#link(parent, kind);
    this.#places.set(key, place);
    if (place === this.#log.tip) this.#tipKey = key;
    return place;
  }

  /**
   * Begins a new conversation with the record `key` and forgets all earlier records. The `keys`
   * become other names of that record: records that name one of them as parent follow it.
   */
  beginAnew(key: NameKey, keys: Iterable<NameKey>): void {
    this.#places.clear();
    const place = this.#log.appendAfter(-1);
    this.#moved('message');
    for (const other of keys) this.#places.set(other, place);
    this.#places.set(key, place);
    this.#tipKey = key;
  }

  state(): RecordChainState {
    return { log: this.#log.state(), places: this.#places.state(), runStart: this.#runStart };
  }

  restore(state: RecordChainState): void {
    this.#log.restore(state.log);
    this.#places.restore(state.places);
    this.#runStart = state.runStart;
    this.#tipKey = undefined;
  }

  #link(parent: NameKey | null, kind: LinkKind): number {
    if (parent === null) return this.#begin(kind);
    if (parent === this.#tipKey) return this.#follow(kind);
    const place = this.#places.get(parent);
    if (place === this.#log.tip && place >= 0) return this.#follow(kind);
    if (place === undefined) return kind === 'aside' ? this.#follow(kind) : this.#drift(kind);
    // Append nothing for a record beside the conversation, such as a progress report. It gets the
    // position of its parent.
    if (kind === 'aside') return place;
    if (kind === 'result') return this.#log.holds(place) ? this.#follow(kind) : place;
    return place >= this.#runStart ? this.#follow(kind) : this.#goBack(place, kind);
  }

  #drift(kind: LinkKind): number {
    this.isAdrift = true;
    return this.#begin(kind);
  }

  #begin(kind: LinkKind): number {
    const place = this.#log.tip < 0 ? this.#log.append() : this.#log.appendAfter(-1);
    this.#moved(kind);
    return place;
  }

  #follow(kind: LinkKind): number {
    const place = this.#log.append();
    this.#moved(kind);
    return place;
  }

  #goBack(place: number, kind: LinkKind): number {
    const next = this.#log.appendAfter(place);
    this.#moved(kind);
    return next;
  }

  #moved(kind: LinkKind): void {
    if (kind !== 'result') this.#runStart = this.#log.tip;
  }
}

/**
 * A run of consecutive records of a transcript. A new branch begins when a record continues an
 * earlier record than the last one. Contains only JSON values, because it is part of a saved state.
 */
interface Branch {
  /** Position of the branch's first record. */
  readonly start: number;
  /**
   * The position that the first record of the branch follows. -1 if the branch begins a new
   * conversation.
   */
  readonly from: number;
}

interface BranchState {
  readonly branches: readonly Branch[];
  readonly next: number;
}

/**
 * Tracks which records are part of a conversation that may go back to an earlier record. If a new
 * record follows an earlier one, it begins a branch, and the records in between leave the
 * conversation.
 */
class BranchLog {
  #branches: Branch[] = [{ start: 0, from: -1 }];
  #next = 0;
  #ranges: readonly Branch[] | undefined;

  /** The position of the last record; -1 if there is none. */
  get tip(): number {
    return this.#next - 1;
  }

  append(): number {
    this.#next += 1;
    return this.#next - 1;
  }

  /**
   * Appends a record after the record at `place`. If `place` is -1, the record begins a new
   * conversation.
   */
  appendAfter(place: number): number {
    this.#branches.push({ start: this.#next, from: place });
    this.#ranges = undefined;
    return this.append();
  }

  /** True if the record at this position is part of the conversation as it is now. */
  holds(place: number): boolean {
    if (this.#branches.length === 1) return place < this.#next;
    this.#ranges ??= this.#wayBack();
    const ranges = this.#ranges;
    // Binary search for the first range that ends at `place` or later.
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ranges[middle]?.from ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    return (ranges[low]?.start ?? Number.POSITIVE_INFINITY) <= place;
  }

  state(): BranchState {
    return { branches: [...this.#branches], next: this.#next };
  }

  restore(state: BranchState): void {
    this.#branches = [...state.branches];
    this.#next = state.next;
    this.#ranges = undefined;
  }

  /**
   * The ranges of positions that form the conversation, from its beginning to its end. Unlike in
   * `#branches`, `from` is the last position of the range.
   */
  #wayBack(): readonly Branch[] {
    const ranges: Branch[] = [];
    let last = Number.POSITIVE_INFINITY;
    for (let index = this.#branches.length - 1; index >= 0; index -= 1) {
      const branch = this.#branches[index];
      if (branch === undefined || branch.start > last) continue;
      ranges.push({ start: branch.start, from: last });
      if (branch.from < 0) break;
      last = branch.from;
    }
    return ranges.reverse();
  }
}

/**
 * Number of names in each of the two tables that `NameTable` keeps. When the newer table is full,
 * the older one is dropped.
 */
const GENERATION = 4096;
/** Number of slots of a table, which is at most half full, so that searches are short. */
const SLOTS = 2 * GENERATION;
/** A key is `high * LOW + low`: `high` has 31 bits and `low` has 21 bits. */
const LOW = 2 ** 21;

/** 52 bits of the hash of a record's name, enough to avoid accidental collisions. Never 0. */
export type NameKey = number;

/** A table of names as plain JSON: alternating keys and positions. */
type Flat = readonly number[];

/**
 * A table of the positions of the last few thousand named records. Drops the oldest, so that memory
 * does not grow with the transcript.
 */
class NameTable {
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
 * A table of names: a hash table with open addressing in two arrays. A `Map` takes ten times as
 * long with such large keys, and every record needs a lookup.
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

  /** The slot that holds the key, or the empty slot where the key would be stored. */
  #slotOf(key: NameKey): number {
    let slot = (key / LOW) & (SLOTS - 1);
    while (this.#keys[slot] !== key && this.#keys[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
    return slot;
  }
}

const UUID_LENGTH = 36;

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

/**
 * Makes every bit of the result depend on all bits of the hash. Without this, short names could get
 * equal keys: their hashes differ in few bits, and a key keeps only some.
 */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

/**
 * Computes the key of a uuid directly from its bytes. Uses only the first and the last group of
 * digits.
 */
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
