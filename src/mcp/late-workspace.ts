import type { WorkspaceOptions } from '../session/opening.ts';
import type { Sessions } from '../session/sessions.ts';

export interface LateOptions {
  readonly workspace: WorkspaceOptions;
  /** Called with the open workspace before anyone else gets it; what it throws counts as a failure to open. */
  readonly opened?: (sessions: Sessions) => void;
}

/** A workspace that is opened, and its code loaded, when someone needs it; once. */
export class LateWorkspace {
  /** Rejects if the workspace cannot be opened; never resolves. */
  readonly failed: Promise<never>;
  readonly #options: LateOptions;
  #fail: (error: unknown) => void = () => {};
  #opening: Promise<Sessions> | undefined;

  constructor(options: LateOptions) {
    this.#options = options;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // Told to whoever waits for it; nobody has to.
    this.failed.catch(() => {});
  }

  open(): Promise<Sessions> {
    if (this.#opening === undefined) {
      this.#opening = this.#open();
      this.#opening.catch(this.#fail);
    }
    return this.#opening;
  }

  /** Opens it for those who will need it later; `failed` tells if that went wrong. */
  begin(): void {
    this.open().catch(() => {});
  }

  /** Closes it, if it was ever opened. */
  async close(): Promise<void> {
    await (await this.#opening)?.close();
  }

  async #open(): Promise<Sessions> {
    const { Sessions } = await import('../session/sessions.ts');
    const sessions = await Sessions.open(this.#options.workspace);
    try {
      this.#options.opened?.(sessions);
      return sessions;
    } catch (error) {
      await sessions.close();
      throw error;
    }
  }
}
