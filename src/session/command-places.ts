import { loadNative } from '../disk/native.ts';
import { repositoryAround } from '../process/git.ts';
import { probeAt } from '../process/processes.ts';
import { type ConfigSources, placesOf, type StateFlags } from './configured.ts';

/**
 * The folder that the undo of a user's command covers: the repository around the current folder, or else that folder.
 */
export function commandRoot({ cwd }: Pick<ConfigSources, 'cwd'>): string {
  return repositoryAround(cwd) ?? cwd;
}

/** Whether commands can run here. Tested with the user's state folder, or with `instead` if there is none yet. */
export async function canRunCommands(
  around: ConfigSources,
  flags: StateFlags,
  instead: string,
): Promise<{ readonly ok: boolean; readonly message: string }> {
  const homes = [placesOf(around, flags).home, instead];
  const probe = await probeAt(homes, { env: around.env, attributes: loadNative() });
  if (probe.ok) return { ok: true, message: 'commands run in a sandbox, and undo takes them back' };
  return { ok: false, message: `no command can be run: ${probe.missing}; ${probe.cure}` };
}
