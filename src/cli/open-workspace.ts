import { Sessions } from '../session/sessions.ts';
import type { Cli } from './cli.ts';
import { placesOf, policyOf, policyTextOf, type StateFlags } from './settings.ts';

/** Opens workspaces with everything a gate works with, and no session. The caller closes it. */
export async function openWorkspace(
  cli: Cli,
  flags: StateFlags,
  roots: readonly string[],
): Promise<Sessions> {
  // Read here first: what is wrong with a policy is told with the name of its file.
  policyOf(cli, flags);
  const policyFile = policyTextOf(cli, flags);
  return Sessions.open({
    roots,
    ...placesOf(cli, flags),
    ...(flags.preset === undefined ? {} : { preset: flags.preset }),
    ...(policyFile === undefined ? {} : { policyFile }),
    ...(flags.readOnly === true ? { policy: { readOnly: true } } : {}),
  });
}
