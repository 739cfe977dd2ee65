import { Fault } from '../model/fault.ts';
import { Workspace } from '../workspace/workspace.ts';

/**
 * The folders that can be served, as the official server does it: each other one is only warned about, unless none is
 * left. Where only one is named, or nothing of that server is expected, one that is not there is a mistake worth stopping for.
 */
export function accessibleFolders(roots: readonly string[], log: (line: string) => void): readonly string[] {
  const accessible = roots.filter((root) => {
    try {
      Workspace.open([root]).close();
      return true;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      log(
        error.reason === 'not-a-directory'
          ? `Warning: ${root} is not a directory, skipping`
          : `Warning: Cannot access directory ${root}, skipping`,
      );
      return false;
    }
  });
  if (accessible.length === 0)
    throw new Fault('CONFIG_INVALID', 'Error: None of the specified directories are accessible');
  return accessible;
}
