import { BranchLog, type BranchState } from './branch-log.ts';
import { type NameKey, NameTable } from './name-table.ts';

/** The kind of a linked record; it determines the effect of going back. */
export type LinkKind = 'message' | 'result' | 'aside';

export interface RecordChainState {
  readonly log: BranchState;
  readonly places: readonly [readonly number[], readonly number[]];
  readonly runStart: number;
}

/** The tree of a transcript whose records name their parent. */
export class RecordChain {
  /**
   * True if the record linked last names an unknown parent. Earlier records are then not known to belong to its
   * conversation.
   */
  isAdrift = false;
  readonly #log = new BranchLog();
  readonly #places = new NameTable();
  /** The key of the record at the tip. Most records follow it and need no search. */
  #tipKey: NameKey | undefined;
  /** Start of the run of results at the end. Parallel results name different parents and belong together. */
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
   * Links a record to its parent and returns its position. The parent of a first record is null. See `isAdrift`.
   */
  link(parent: NameKey | null, kind: LinkKind, key: NameKey): number {
    this.isAdrift = false;
    const place = this.#link(parent, kind);
    this.#places.set(key, place);
    if (place === this.#log.tip) this.#tipKey = key;
    return place;
  }

  /** Begins a new conversation: earlier records are gone, and `keys` also refer to this record. */
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
    // An aside does not change the end of the conversation.
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
