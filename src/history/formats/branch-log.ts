/** A run of records that follow each other; a new one begins wherever the conversation goes back. Plain JSON. */
interface Branch {
  /** First place of the run. */
  readonly start: number;
  /** Where it left the conversation: the last place that still belongs to it. -1: nowhere, it is a new beginning. */
  readonly from: number;
}

export interface BranchState {
  readonly branches: readonly Branch[];
  readonly next: number;
}

/**
 * Which places of a conversation with branches lead to its end. Places count up as records are appended; going back to
 * an earlier one begins a branch, and what was appended since is not part of the conversation until it goes back there.
 */
export class BranchLog {
  #branches: Branch[] = [{ start: 0, from: -1 }];
  #next = 0;
  #ranges: readonly Branch[] | undefined;

  /** The last place; -1 when there is none. */
  get tip(): number {
    return this.#next - 1;
  }

  /** Appends a record after the last one. */
  append(): number {
    this.#next += 1;
    return this.#next - 1;
  }

  /** Appends a record after an earlier one, or, with -1, after none. */
  appendAfter(place: number): number {
    this.#branches.push({ start: this.#next, from: place });
    this.#ranges = undefined;
    return this.append();
  }

  /** Does this place lead to the end of the conversation? */
  holds(place: number): boolean {
    if (this.#branches.length === 1) return place < this.#next;
    this.#ranges ??= this.#wayBack();
    const ranges = this.#ranges;
    // The first range that does not end before the place, of ranges in ascending order.
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

  /** The ranges of places from the beginning to the end, as start and last (`from`). */
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
