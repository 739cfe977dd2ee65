import type { GatedSession } from './gated-session.ts';
import { checkOpening, type WorkspaceOptions } from './opening.ts';
import { Sessions } from './sessions.ts';

export interface SessionOptions extends WorkspaceOptions {
  /** Names the session: it is kept when closed and comes back under this name. */
  readonly session?: string | undefined;
  /** The program that the session belongs to, for people and for other sessions. */
  readonly client?: string | undefined;
}

/** Opens a workspace with one session; closing the session closes the workspace with it. */
export async function openSession(options: SessionOptions): Promise<GatedSession> {
  checkOpening(options, ['session', 'client']);
  const { session: id, client, ...rest } = options;
  const sessions = await Sessions.open(rest, { withLast: true });
  try {
    return await sessions.session(id, client);
  } catch (error) {
    await sessions.close();
    throw error;
  }
}
