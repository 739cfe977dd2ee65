import { keepPolicyOutOfReach } from '../session/out-of-reach.ts';
import type { Sessions } from '../session/sessions.ts';

/** A policy file that the agent can edit, or reach through a link, is a Fault. */
export function keepOutOfReach({ world }: Sessions, file: string): void {
  keepPolicyOutOfReach(world.workspace.roots, file, world.home);
}
