import { Fault, nothingChanged } from '../model/fault.ts';
import type { WorkspaceOptions } from '../session/opening.ts';
import type { Sessions } from '../session/sessions.ts';

export interface LateOptions {
  readonly workspace: WorkspaceOptions;
  /** Called with the open workspace before anyone else gets it; what it throws counts as a failure to open. */
  readonly opened?: (sessions: Sessions) => void;
}

/**
 * A workspace that is opened, and its code loaded, when a call needs it; once. If the state cannot be used, the next call
 * tries again: a full disk or a locked database passes, and a server must not end because of it.
 */
export class LateWorkspace {
  /** Rejects if the workspace can never be opened as it was asked for; never resolves. */
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
    this.#opening ??= this.#open().catch((error: unknown) => {
      if (!isOfTheState(error)) this.#fail(error);
      else this.#opening = undefined;
      throw nothingChanged(error);
    });
    return this.#opening;
  }

  /** Opens it for those who will need it later; `failed` tells if that went wrong. */
  begin(): void {
    this.open().catch(() => {});
  }

  /** Closes it, if it was ever opened. */
  async close(): Promise<void> {
    const sessions = await this.#opening?.catch(() => undefined);
    await sessions?.close();
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

function isOfTheState(error: unknown): boolean {
  return error instanceof Fault && error.code === 'STORE_FAILED';
}
