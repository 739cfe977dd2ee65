/**
 * The kind of a record. `message`: a prompt or an answer; if it names an earlier parent, the
 * conversation goes back there. `result`: the result of a tool call. `aside`: a record beside the
 * conversation, such as a progress report.
 */
export type LinkKind = 'message' | 'result' | 'aside';

export interface RecordChainState {
  readonly log: BranchState;
  readonly places: readonly [Named, Named];
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

  knows(name: string): boolean {
    return this.#places.get(name) !== undefined;
  }

  /**
   * Links a record to its parent and returns its position. `parent` is undefined for the first
   * record of a conversation. Sets `isAdrift` to true if a message or result names an unknown parent,
   * otherwise to false.
   */
  link(parent: string | undefined, kind: LinkKind, name: string): number {
    this.isAdrift = false;
    const place = this.#link(parent, kind);
    this.#places.set(name, place);
    return place;
  }

  /**
   * Begins a new conversation with the record `name` and forgets all earlier records. The `others`
   * become other names of that record: records that name one of them as parent follow it.
   */
  beginAnew(name: string, others: Iterable<string>): void {
    this.#places.clear();
    const place = this.#log.appendAfter(-1);
    this.#moved('message');
    for (const other of others) this.#places.set(other, place);
    this.#places.set(name, place);
  }

  state(): RecordChainState {
    return { log: this.#log.state(), places: this.#places.state(), runStart: this.#runStart };
  }

  restore(state: RecordChainState): void {
    this.#log.restore(state.log);
    this.#places.restore(state.places);
    this.#runStart = state.runStart;
  }

  #link(parent: string | undefined, kind: LinkKind): number {
    if (parent === undefined) return this.#begin(kind);
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
 * Number of names in each of the two maps of `NameTable`. When the newer map is full, the older one
 * is dropped.
 */
const GENERATION = 4096;

/** Names and positions as plain JSON. */
type Named = readonly (readonly [name: string, place: number])[];

/**
 * The positions of the last few thousand named records. Drops the oldest, so that memory does not
 * grow with the transcript.
 */
class NameTable {
  #newer = new Map<string, number>();
  #older = new Map<string, number>();

  get(name: string): number | undefined {
    return this.#newer.get(name) ?? this.#older.get(name);
  }

  set(name: string, place: number): void {
    if (this.#newer.size >= GENERATION) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    this.#newer.set(name, place);
  }

  clear(): void {
    this.#newer.clear();
    this.#older.clear();
  }

  state(): readonly [older: Named, newer: Named] {
    return [[...this.#older], [...this.#newer]];
  }

  restore([older, newer]: readonly [Named, Named]): void {
    this.#older = new Map(older);
    this.#newer = new Map(newer);
  }
}
