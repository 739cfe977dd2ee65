import { Fault } from '../model/fault.ts';
import { Workspace } from '../workspace/workspace.ts';

/**
 * The folders that can be served. Like the official server, it only warns about a folder that
 * cannot be opened, unless none is left. For a single folder, or a dialect other than that
 * server's, a missing folder is an error.
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
