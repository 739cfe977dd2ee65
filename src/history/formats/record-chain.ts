import { BranchLog, type BranchState } from './branch-log.ts';

/** What kind of record is linked; it decides what going back means. */
export type LinkKind = 'message' | 'result' | 'aside';

export interface ChainState {
  readonly log: BranchState;
  readonly places: readonly (readonly [string, number])[];
  readonly tipName: string | null;
  readonly runStart: number;
  readonly lostTip: boolean;
}

/** Records whose names are remembered; going back further than this is going back to the unknown. */
const MAX_NAMES = 8192;

/** Where a record belongs, and whether the conversation before it is unknown. */
export interface Link {
  readonly place: number;
  readonly unknown: boolean;
}

/**
 * The tree of a transcript whose records name their parent. Records that are not parsed keep their own name secret; it
 * is learnt from the next record that names them as its parent.
 */
export class RecordChain {
  readonly #log = new BranchLog();
  readonly #places = new Map<string, number>();
  /** Name of the last record; undefined while it is not known. */
  #tipName: string | undefined;
  /** Beginning of the run of results at the end: parallel results name different parents and belong together. */
  #runStart = 0;
  /** A branch was left whose last record's name was never learnt. */
  #lostTip = false;

  get tip(): number {
    return this.#log.tip;
  }

  holds(place: number): boolean {
    return place < 0 || this.#log.holds(place);
  }

  knows(name: string): boolean {
    return this.#places.has(name);
  }

  /** Links a record to its parent; null is the parent of a beginning. */
  link(parent: string | null, kind: LinkKind, name?: string): Link {
    const link = this.#link(parent, kind);
    if (name !== undefined) this.#name(name, link.place);
    return link;
  }

  /** All that came before is gone; these names stand for the record that says so. */
  beginAnew(name: string | undefined, names: Iterable<string>): void {
    this.#places.clear();
    this.#lostTip = false;
    const place = this.#log.appendAfter(-1);
    this.#moved(name, 'message');
    for (const other of names) this.#name(other, place);
    if (name !== undefined) this.#name(name, place);
  }

  state(): ChainState {
    return {
      log: this.#log.state(),
      places: [...this.#places],
      tipName: this.#tipName ?? null,
      runStart: this.#runStart,
      lostTip: this.#lostTip,
    };
  }

  restore(state: ChainState): void {
    this.#log.restore(state.log);
    this.#places.clear();
    for (const [name, place] of state.places) this.#places.set(name, place);
    this.#tipName = state.tipName ?? undefined;
    this.#runStart = state.runStart;
    this.#lostTip = state.lostTip;
  }

  #link(parent: string | null, kind: LinkKind): Link {
    if (parent === null) return this.#begin(kind);
    const place = this.#placeOf(parent);
    if (place === undefined)
      return kind === 'aside' ? this.#follow(kind) : { ...this.#begin(kind), unknown: true };
    if (place === this.#log.tip) return this.#follow(kind);
    // Something said aside changes nothing about where the conversation stands.
    if (kind === 'aside') return { place, unknown: false };
    if (kind === 'result') return this.#log.holds(place) ? this.#follow(kind) : { place, unknown: false };
    return place >= this.#runStart ? this.#follow(kind) : this.#goBack(place, kind);
  }

  #placeOf(parent: string): number | undefined {
    const place = this.#places.get(parent);
    if (place !== undefined || this.#tipName !== undefined || this.#log.tip < 0) return place;
    // The last record's name was secret until now, unless it could as well be that of a branch left behind.
    if (this.#lostTip) return undefined;
    this.#name(parent, this.#log.tip);
    return this.#log.tip;
  }

  #begin(kind: LinkKind): Link {
    const first = this.#log.tip < 0;
    this.#lostTip ||= !first && this.#tipName === undefined;
    const place = first ? this.#log.append() : this.#log.appendAfter(-1);
    this.#moved(undefined, kind);
    return { place, unknown: false };
  }

  #follow(kind: LinkKind): Link {
    const place = this.#log.append();
    this.#moved(undefined, kind);
    return { place, unknown: false };
  }

  #goBack(place: number, kind: LinkKind): Link {
    this.#lostTip ||= this.#tipName === undefined;
    const next = this.#log.appendAfter(place);
    this.#moved(undefined, kind);
    return { place: next, unknown: false };
  }

  #moved(name: string | undefined, kind: LinkKind): void {
    this.#tipName = name;
    if (kind !== 'result') this.#runStart = this.#log.tip;
  }

  #name(name: string, place: number): void {
    if (place === this.#log.tip) this.#tipName = name;
    this.#places.set(name, place);
    if (this.#places.size <= MAX_NAMES) return;
    const [oldest] = this.#places.keys();
    if (oldest !== undefined) this.#places.delete(oldest);
  }
}
