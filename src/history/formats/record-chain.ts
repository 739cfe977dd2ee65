import { BranchLog, type BranchState } from './branch-log.ts';
import { type NameKey, NameTable } from './name-table.ts';

/** What kind of record is linked; it decides what going back means. */
export type LinkKind = 'message' | 'result' | 'aside';

export interface ChainState {
  readonly log: BranchState;
  readonly places: readonly [readonly number[], readonly number[]];
  readonly tip: NameKey | null;
  readonly runStart: number;
  readonly lostTip: boolean;
}

/**
 * The tree of a transcript whose records name their parent. Records that are not parsed keep their own name secret; it
 * is asked for when the next record names a parent that is not known otherwise.
 */
export class RecordChain {
  /** The record linked last names a parent that is not known: what came before it is not known to lead to it. */
  isAdrift = false;
  readonly #log = new BranchLog();
  readonly #places = new NameTable();
  /** Name of the last record; undefined while it is not known. */
  #tipKey: NameKey | undefined;
  /** Beginning of the run of results at the end: parallel results name different parents and belong together. */
  #runStart = 0;
  /** A branch was left whose last record's name could not be learnt. */
  #lostTip = false;
  readonly #nameOfLast: () => NameKey | undefined;

  /** `nameOfLast` finds the name of the record linked last, if it was linked without one. */
  constructor(nameOfLast: () => NameKey | undefined) {
    this.#nameOfLast = nameOfLast;
  }

  get tip(): number {
    return this.#log.tip;
  }

  holds(place: number): boolean {
    return place < 0 || this.#log.holds(place);
  }

  knows(key: NameKey): boolean {
    return this.#places.get(key) !== undefined;
  }

  /** Links a record to its parent; null is the parent of a beginning. Tells its place; see `isAdrift`. */
  link(parent: NameKey | null, kind: LinkKind, key?: NameKey): number {
    this.isAdrift = false;
    const place = this.#link(parent, kind);
    if (key !== undefined) this.#name(key, place);
    return place;
  }

  /** All that came before is gone; these names stand for the record that says so. */
  beginAnew(key: NameKey, keys: Iterable<NameKey>): void {
    this.#places.clear();
    this.#lostTip = false;
    const place = this.#log.appendAfter(-1);
    this.#moved('message');
    for (const other of keys) this.#name(other, place);
    this.#name(key, place);
  }

  /** Learns the name of the record linked last. */
  settle(): void {
    if (this.#tipKey !== undefined || this.#log.tip < 0) return;
    const key = this.#nameOfLast();
    if (key !== undefined) this.#name(key, this.#log.tip);
  }

  state(): ChainState {
    return {
      log: this.#log.state(),
      places: this.#places.state(),
      tip: this.#tipKey ?? null,
      runStart: this.#runStart,
      lostTip: this.#lostTip,
    };
  }

  restore(state: ChainState): void {
    this.#log.restore(state.log);
    this.#places.restore(state.places);
    this.#tipKey = state.tip ?? undefined;
    this.#runStart = state.runStart;
    this.#lostTip = state.lostTip;
  }

  #link(parent: NameKey | null, kind: LinkKind): number {
    if (parent === null) return this.#begin(kind);
    const place = this.#placeOf(parent);
    if (place === this.#log.tip) return this.#follow(kind);
    if (place === undefined) return kind === 'aside' ? this.#follow(kind) : this.#drift(kind);
    // Something said aside changes nothing about where the conversation stands.
    if (kind === 'aside') return place;
    if (kind === 'result') return this.#log.holds(place) ? this.#follow(kind) : place;
    return place >= this.#runStart ? this.#follow(kind) : this.#goBack(place, kind);
  }

  #placeOf(parent: NameKey): number | undefined {
    if (parent === this.#tipKey) return this.#log.tip;
    const place = this.#places.get(parent);
    if (place !== undefined || this.#tipKey !== undefined || this.#log.tip < 0) return place;
    this.settle();
    if (this.#tipKey !== undefined) return this.#tipKey === parent ? this.#log.tip : undefined;
    // Its name stands nowhere, so this is it, unless it could as well be that of a branch left behind.
    if (this.#lostTip) return undefined;
    this.#places.set(parent, this.#log.tip);
    return this.#log.tip;
  }

  #drift(kind: LinkKind): number {
    this.isAdrift = true;
    return this.#begin(kind);
  }

  #begin(kind: LinkKind): number {
    const first = this.#log.tip < 0;
    if (!first) this.#leave();
    const place = first ? this.#log.append() : this.#log.appendAfter(-1);
    this.#moved(kind);
    return place;
  }

  #follow(kind: LinkKind): number {
    const place = this.#log.append();
    this.#moved(kind);
    return place;
  }

  #goBack(place: number, kind: LinkKind): number {
    this.#leave();
    const next = this.#log.appendAfter(place);
    this.#moved(kind);
    return next;
  }

  #leave(): void {
    this.settle();
    this.#lostTip ||= this.#tipKey === undefined;
  }

  #moved(kind: LinkKind): void {
    this.#tipKey = undefined;
    if (kind !== 'result') this.#runStart = this.#log.tip;
  }

  #name(key: NameKey, place: number): void {
    if (place === this.#log.tip) this.#tipKey = key;
    this.#places.set(key, place);
  }
}
