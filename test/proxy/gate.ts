import type { Session } from '../../src/model/session.ts';
import type { GatedSession, HostSession } from '../../src/session/gated-session.ts';
import type { WorkspaceOptions } from '../../src/session/sessions.ts';
import { Sessions } from '../../src/session/sessions.ts';

/** A real gate on a folder, with its own state, for a proxy under test. */
export class TestGate {
  readonly session: HostSession;
  /** The proxy's session, opened with the library. */
  readonly library: Session;
  readonly #sessions: Sessions;

  private constructor(sessions: Sessions, library: GatedSession) {
    this.#sessions = sessions;
    this.library = library;
    this.session = library.forHost();
  }

  static async open(root: string, home: string, options: Partial<WorkspaceOptions> = {}): Promise<TestGate> {
    const sessions = await Sessions.open({ roots: [root], store: 'memory:', home, ...options });
    return new TestGate(sessions, await sessions.session('proxy-test'));
  }

  /** The journal, oldest first, one line per entry, without the entries that opening a session writes. */
  async log(): Promise<string[]> {
    const entries = await this.#sessions.world.store.entries({ order: 'oldest' });
    return entries
      .filter((entry) => entry.kind !== 'session')
      .map((entry) => {
        const { kind, action, path, text } = entry;
        const what = entry.kind === 'refusal' ? entry.code : action;
        return [kind, what, text ?? path].filter(Boolean).join(' ');
      });
  }

  /**
   * The number of announced changes whose outcome is not recorded. It must be 0 when nothing is
   * running.
   */
  async pending(): Promise<number> {
    return (await this.#sessions.world.store.pending()).length;
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }
}
