import type { Ledger } from '../ledger/ledger.ts';

/** The part of the model's context that adapters know, because they see each request to the model. */
export class ModelContext {
  /** The tool results in the last request: a digest for the id of each call. */
  results: ReadonlyMap<string, string> | undefined;
  /**
   * When this process resumed the session. Undefined for a session that began in this process, or
   * that another process has open too.
   */
  resumedMs: number | undefined;
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /**
   * Forgets what the session saw before this process resumed it: a resumed conversation may have
   * lost it. Returns false if there was nothing to forget.
   */
  async forgetPast(): Promise<boolean> {
    if (this.resumedMs === undefined) return false;
    return (await this.#ledger.rewound(0, this.resumedMs - 1)) > 0;
  }
}
