import { Fault, nothingChanged } from '../model/fault.ts';
import type { WorkspaceOptions } from '../session/opening.ts';
import type { Sessions } from '../session/sessions.ts';

export interface LateOptions {
  readonly workspace: WorkspaceOptions;
  /** The roots, if they are not those of `workspace`: asked for at every opening. */
  readonly roots?: (() => Promise<readonly string[]>) | undefined;
  readonly log: (line: string) => void;
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
    this.#opening ??= this.#watched(this.#open());
    return this.#opening;
  }

  #watched(opening: Promise<Sessions>): Promise<Sessions> {
    return opening.catch((error: unknown) => {
      if (!isOfTheState(error)) this.#fail(error);
      else this.#opening = undefined;
      throw nothingChanged(error);
    });
  }

  /** Opens it for those who will need it later; `failed` tells if that went wrong. */
  begin(): void {
    this.open().catch(() => {});
  }

  /** Closes the workspace, if it was ever opened, and opens it anew: its roots have changed. */
  renew(): void {
    const before = this.#opening;
    if (before === undefined) return;
    const reopened = async (): Promise<Sessions> => {
      const sessions = await before.catch(() => undefined);
      await sessions?.close();
      return this.#open();
    };
    this.#opening = this.#watched(reopened());
    // Whoever calls next learns of it.
    this.#opening.catch(() => {});
  }

  /** Closes it, if it was ever opened. */
  async close(): Promise<void> {
    const sessions = await this.#opening?.catch(() => undefined);
    await sessions?.close();
  }

  async #open(): Promise<Sessions> {
    const { Sessions } = await import('../session/sessions.ts');
    const { workspace, log } = this.#options;
    const roots = await this.#options.roots?.();
    const sessions =
      roots === undefined
        ? await Sessions.open(workspace)
        : await openUsable((list) => Sessions.open({ ...workspace, roots: list }), { roots, workspace, log });
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

/**
 * Opens the roots that a client named. One that cannot be opened is left out with a line in the log; if none is left, the
 * workspace has its own.
 */
async function openUsable(
  open: (roots: readonly string[]) => Promise<Sessions>,
  { roots, workspace, log }: Pick<LateOptions, 'workspace' | 'log'> & { readonly roots: readonly string[] },
): Promise<Sessions> {
  try {
    return await open(roots);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'CONFIG_INVALID') throw error;
    const usable: string[] = [];
    for (const root of roots) {
      try {
        await (await open([root])).close();
        usable.push(root);
      } catch (reason) {
        if (!(reason instanceof Fault)) throw reason;
        log(`left out a root of the client: ${reason.message} [${reason.code}]`);
      }
    }
    return open(usable.length === 0 ? workspace.roots : usable);
  }
}
