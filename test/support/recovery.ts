import type { DiskContext } from '../../src/disk/context.ts';
import { clearTemps } from '../../src/disk/names.ts';
import type { Workspace } from '../../src/workspace/workspace.ts';

/**
 * Removes the temporary files of a change at these paths, as recovery does for the paths that the
 * record of a begun change lists.
 */
export function recoverAll(
  workspace: Workspace,
  context: DiskContext,
  { change, paths }: { readonly change: string; readonly paths: readonly string[] },
): 'clear' | 'left' {
  const cleared = paths.map((path) => {
    const outcome = workspace.locate(path, 'status', 'parents');
    if (!outcome.ok) throw new Error(`${path}: ${outcome.refusal.code}`);
    const { place } = outcome.located;
    try {
      return clearTemps({ ...context, change }, place);
    } finally {
      place.dir.close();
    }
  });
  return cleared.includes('left') ? 'left' : 'clear';
}
