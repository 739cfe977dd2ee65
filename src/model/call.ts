import type { Action } from './verdict.ts';

/** A change that needs the user's approval. */
export interface ApprovalRequest {
  /** The path of the file or folder, relative to its workspace root. */
  readonly path: string;
  /** The new path of a moved file or folder, if it needs approval too. */
  readonly to?: string;
  readonly action: Action;
  /** Identifies the path together with the exact content it will have. */
  readonly mark: string;
  /** Diff of a text change, cut to a maximum length. */
  readonly diff?: string;
}

/** The user's answer. Undefined: no user can be asked here, or the question was not answered. */
export type Approval = 'approved' | 'declined' | undefined;

/**
 * One call of a client. Its answer counts as seen only for calls that arrive after the answer was
 * sent. Moments are times of `performance.now()`, which never runs backwards.
 */
export class ClientCall {
  readonly arrivedAt: number;
  /** True if the answer shows lines that the session had not seen. */
  showsMore = false;
  /** Name of the called tool, for bypass rules that name tools. Undefined for calls of the library. */
  tool: string | undefined;
  /** Asks the user to approve a change. Undefined if the client cannot ask. */
  approve: ((request: ApprovalRequest) => Promise<Approval>) | undefined;
  #answeredAt = Number.POSITIVE_INFINITY;
  #waiting: ((answeredAt: number) => void)[] = [];

  constructor(arrivedAt: number = performance.now()) {
    this.arrivedAt = arrivedAt;
  }

  /** Infinity until the call is answered. A cancelled call is never answered. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  /** Call this when the answer was handed to the transport. `at`: the moment before. */
  answered(at: number = performance.now()): void {
    this.#answeredAt = at;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const work of waiting) work(this.#answeredAt);
  }

  /** Runs `work` with the time of the answer, as soon as the call is answered. */
  whenAnswered(work: (answeredAt: number) => void): void {
    if (this.#answeredAt === Number.POSITIVE_INFINITY) this.#waiting.push(work);
    else work(this.#answeredAt);
  }
}
