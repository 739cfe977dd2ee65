import { basename, dirname, join, resolve } from 'node:path';
import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import type { HostIntent } from '../../model/intent.ts';
import { isWithin } from '../../model/path.ts';
import type { OutsidePaths } from '../../model/session.ts';
import type { Action } from '../../model/verdict.ts';
import { gitFolderOf, ignoredByGit, repositoryAround } from '../../process/git.ts';
import { GitCopies } from '../../process/git-copies.ts';
import { entriesOf, isThere, linkedTo, realFolder } from '../../process/own-files.ts';
import { outputTest } from '../outputs.ts';
import type { World } from '../world.ts';
import { type Threat, Threats } from './at-risk.ts';
import type { LinePlace, ShellChange } from './line-changes.ts';

/** Time limit for all questions to git, in milliseconds. */
const GIT_MS = 3_000;

/** The paths outside the workspace that a line concerns, and what it would destroy there. */
export interface OutsideOfLine extends OutsidePaths {
  readonly threats: readonly Threat[];
}

/** Finds the paths outside the workspace that a line changes, or names in code. */
export async function outsideOfLine(
  world: World,
  line: ShellLine,
  { changes, place }: { readonly changes: readonly ShellChange[]; readonly place: LinePlace },
): Promise<OutsideOfLine> {
  const at = outsideOf(world, place);
  const own = changes.map(({ intent, whole }) => ({
    paths: pathsOf(intent).flatMap((path) =>
      // A delete removes a link itself. A write follows it.
      at(intent.kind === 'delete' ? path : (linkedTo(resolve(place.cwd, path)) ?? path)),
    ),
    kind: intent.kind,
    whole: whole === true,
  }));
  const named = [...line.scriptNames(), ...line.moves()].flatMap((name) => at(place.at(name)));
  const git = line.gitFolders().flatMap((folder) => at(place.at(folder === '' ? '.' : folder)));
  const others = [...named, ...git].filter(isThere);
  // Losses in other worktrees of the repository are judged with the workspace.
  const isOutside = (path: string): boolean =>
    at(path).length > 0 && world.claims.worktrees.around(path) === undefined;
  // An append destroys nothing.
  const taken = own
    .flatMap(({ paths, kind, whole }) => (kind === 'insert' ? [] : paths.map((path) => ({ path, whole }))))
    .filter(({ path }) => isOutside(path));
  const threats = await threatsOutside(world, line, { named: taken.map(({ path }) => path), place });
  const swept = threats.map(({ path }) => ({ path, whole: false }));
  return {
    threats,
    destroyed: [...taken, ...swept, ...(threats.length === 0 ? [] : gitFiles(line, place, isOutside))],
    named: named.filter((path) => isThere(path) && isOutside(path)),
    changed: [
      ...own.flatMap(({ paths, kind }) => paths.map((path) => ({ path, action: actionOf(kind) }))),
      ...others.map((path) => ({ path, action: 'edit' }) as const),
    ],
  };
}

function pathsOf(intent: HostIntent): readonly string[] {
  return intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
}

function actionOf(kind: HostIntent['kind']): Action {
  if (kind === 'touch') return 'edit';
  return kind === 'write' ? 'overwrite' : kind;
}

/** Returns paths as absolute ones without links, if they are outside the workspace. */
function outsideOf({ workspace }: World, { cwd }: LinePlace): (path: string) => readonly string[] {
  const folders = new Map<string, string>();
  return (path) => {
    const absolute = resolve(cwd, path);
    const folder = dirname(absolute);
    const real = join(folders.get(folder) ?? realFolder(folder), basename(absolute));
    folders.set(folder, dirname(real));
    if (workspace.roots.some((root) => isWithin(real, root))) return [];
    const outcome = workspace.resolve(absolute, 'status');
    return outcome.ok || outcome.refusal.code !== 'OUTSIDE_WORKSPACE' ? [] : [real];
  };
}

/** The losses of a line outside the workspace. Leaves out files whose bytes git has, and files that tools can rebuild. */
async function threatsOutside(
  world: World,
  line: ShellLine,
  { named, place }: { readonly named: readonly string[]; readonly place: LinePlace },
): Promise<readonly Threat[]> {
  const signal = AbortSignal.timeout(GIT_MS);
  const sweeps = line.sweeps();
  if (sweeps.length === 0 && named.length === 0) return [];
  const found = await new Threats(world, { cwd: place.cwd, where: 'outside', signal }).of(sweeps, named);
  const copies = new GitCopies(world.processes.gitFacts, { signal, folders: [], search: 'checkouts' });
  const held = await copies.heldAmong(found.filter(({ why }) => why === 'at-work'));
  const isOutput = outputTest(world);
  const left: Threat[] = [];
  for (const threat of found) {
    const { path, kind, why } = threat;
    if (held.has(path) || (isOutput(path.slice(1)) && (await isIgnored(path, why)))) continue;
    left.push(kind === 'file' ? { ...threat, why: 'outside' } : threat);
  }
  return left;
}

async function isIgnored(path: string, why: Threat['why']): Promise<boolean> {
  const top = why === 'at-work' ? repositoryAround(dirname(path)) : undefined;
  return top === undefined ? why === 'ignored' : (await ignoredByGit(top, [path])).size > 0;
}

/** The references, logs and indexes of the repositories outside in which git commands of a line work. */
function gitFiles(
  line: ShellLine,
  { cwd }: LinePlace,
  isOutside: (path: string) => boolean,
): OutsidePaths['destroyed'] {
  const folders = line.sweeps().map(({ folder }) => realFolder(resolve(cwd, folder)));
  const found = [...new Set(folders.filter(isOutside).flatMap((folder) => gitFolderOf(folder) ?? []))];
  const paths = found.flatMap((folder) => entriesOf({ folder, entries: 'own' }) ?? []);
  return paths.map((path) => ({ path, whole: false }));
}
