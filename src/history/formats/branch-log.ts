/** A run of consecutive records. A new one begins wherever the conversation goes back. Plain JSON. */
interface Branch {
  /** First position of the run. */
  readonly start: number;
  /**
   * The position after which this branch begins: the last one that it shares with the conversation. -1 for a new
   * beginning.
   */
  readonly from: number;
}

export interface BranchState {
  readonly branches: readonly Branch[];
  readonly next: number;
}

/**
 * Tracks which positions of a branching conversation lead to its end. Positions increase as records are appended. Going
 * back to an earlier one begins a branch; the records in between leave the conversation until it goes back to them.
 */
export class BranchLog {
  #branches: Branch[] = [{ start: 0, from: -1 }];
  #next = 0;
  #ranges: readonly Branch[] | undefined;

  /** The last position; -1 if there is none. */
  get tip(): number {
    return this.#next - 1;
  }

  /** Appends a record after the last one. */
  append(): number {
    this.#next += 1;
    return this.#next - 1;
  }

  /** Appends a record after an earlier one, or with -1 as a new beginning. */
  appendAfter(place: number): number {
    this.#branches.push({ start: this.#next, from: place });
    this.#ranges = undefined;
    return this.append();
  }

  /** Whether this position leads to the end of the conversation. */
  holds(place: number): boolean {
    if (this.#branches.length === 1) return place < this.#next;
    this.#ranges ??= this.#wayBack();
    const ranges = this.#ranges;
    // Binary search for the first range that does not end before the position.
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

  /** The ranges of positions from the beginning to the end; `from` holds the last position of each. */
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
