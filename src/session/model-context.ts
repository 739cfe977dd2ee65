import type { Knowledge } from '../views/knowledge.ts';

/** The part of the model's context that adapters know, because they see each request to the model. */
export class ModelContext {
  /** The tool results in the last request to the model: a digest of each result, by the id of its call. */
  results: ReadonlyMap<string, string> | undefined;
  /**
   * When this process resumed the session. Undefined for a session that began in this process, or
   * that another process has open too.
   */
  resumedMs: number | undefined;
  readonly #knowledge: Knowledge;

  constructor(knowledge: Knowledge) {
    this.#knowledge = knowledge;
  }

  /**
   * Forgets what the session saw before this process resumed it, because the resumed conversation
   * may no longer contain that. Returns false if there was nothing to forget.
   */
  async forgetPast(): Promise<boolean> {
    if (this.resumedMs === undefined) return false;
    return (await this.#knowledge.rewound(0, this.resumedMs - 1)) > 0;
  }
}
