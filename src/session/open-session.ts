import type { GatedSession } from './gated-session.ts';
import { checkOpening, SESSION_OPTIONS, type WorkspaceOptions } from './opening.ts';
import { Sessions } from './sessions.ts';

export interface SessionOptions extends WorkspaceOptions {
  /** Name of the session. A named session is kept when closed and resumes under this name. */
  readonly session?: string | undefined;
  /** The program that the session belongs to, shown to users and other sessions. */
  readonly client?: string | undefined;
}

/** Opens a workspace with one session. Closing the session also closes the workspace. */
export async function openSession(options: SessionOptions): Promise<GatedSession> {
  checkOpening(SESSION_OPTIONS, options);
  const { session: id, client, ...rest } = options;
  const sessions = await Sessions.open(rest, { withLast: true });
  try {
    return await sessions.session(id, client);
  } catch (error) {
    await sessions.close();
    throw error;
  }
}
