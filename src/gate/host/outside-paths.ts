import { resolve } from 'node:path';
import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import type { HostIntent } from '../../model/intent.ts';
import { isWithin } from '../../model/path.ts';
import type { OutsidePaths } from '../../model/session.ts';
import type { Action } from '../../model/verdict.ts';
import { isThere, withRealFolder } from '../../process/own-files.ts';
import type { World } from '../world.ts';
import type { LinePlace, ShellChange } from './line-changes.ts';
import { sweptByGit } from './outside-git.ts';

/** Finds the paths outside the workspace that a line changes, or names in code. */
export async function outsidePaths(
  world: World,
  line: ShellLine,
  { changes, place }: { readonly changes: readonly ShellChange[]; readonly place: LinePlace },
): Promise<OutsidePaths> {
  const at = (path: string): readonly string[] => absoluteOutside(world, place, path);
  const own = changes.map(({ intent, whole }) => ({
    paths: intent.kind === 'move' ? [...at(intent.source), ...at(intent.destination)] : at(intent.path),
    kind: intent.kind,
    whole: whole === true,
  }));
  const named = [...line.scriptNames(), ...line.moves()].flatMap((name) => at(place.at(name)));
  const git = line.gitFolders().flatMap((folder) => at(place.at(folder === '' ? '.' : folder)));
  const others = [...named, ...git].filter(isThere);
  // Losses in other worktrees of the repository are judged with the workspace.
  const isOutside = (path: string): boolean =>
    at(path).length > 0 && world.claims.worktrees.around(path) === undefined;
  const swept = await sweptByGit(line.sweeps(), { cwd: place.cwd, isOutside });
  // An append destroys nothing.
  const taken = own.flatMap(({ paths, kind, whole }) =>
    kind === 'insert' ? [] : paths.map((path) => ({ path, whole })),
  );
  return {
    destroyed: [...taken, ...swept].filter(({ path }) => isOutside(path)),
    named: named.filter((path) => isThere(path) && isOutside(path)),
    changed: [
      ...own.flatMap(({ paths, kind }) => paths.map((path) => ({ path, action: actionOf(kind) }))),
      ...others.map((path) => ({ path, action: 'edit' }) as const),
    ],
  };
}

function actionOf(kind: HostIntent['kind']): Action {
  if (kind === 'touch') return 'edit';
  return kind === 'write' ? 'overwrite' : kind;
}

/** The path as an absolute one without links, if it is outside the workspace. */
function absoluteOutside({ workspace }: World, { cwd }: LinePlace, path: string): readonly string[] {
  const absolute = resolve(cwd, path);
  const outcome = workspace.resolve(absolute, 'status');
  if (outcome.ok || outcome.refusal.code !== 'OUTSIDE_WORKSPACE') return [];
  const real = withRealFolder(absolute);
  return workspace.roots.some((root) => isWithin(real, root)) ? [] : [real];
}
