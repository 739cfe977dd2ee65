import { Fault } from '../model/fault.ts';
import type { Sessions } from '../session/sessions.ts';

/** A policy that the agent can edit is none: a file inside the workspace is a Fault. */
export function keepOutOfReach(sessions: Sessions, file: string): void {
  if (!sessions.world.workspace.resolve(file).ok) return;
  const message = `the policy file ${file} lies in the workspace, where the agent could change it: keep it elsewhere`;
  throw new Fault('CONFIG_INVALID', message, { path: file });
}
