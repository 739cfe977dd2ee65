import { linkTarget } from '../../disk/list.ts';
import { modeOf, type Snapshot, stampOf } from '../../disk/read.ts';
import { ABSENT } from '../../model/delta.ts';
import { type Effect, microseconds, type State, type WholeTree } from '../../model/entry.ts';
import { type Fingerprint, sameStamp } from '../../model/fingerprint.ts';
import { isWithin } from '../../model/path.ts';
import type { Harm, OutsidePaths } from '../../model/session.ts';
import { commonGitFolder, gitFolderOf } from '../../process/git.ts';
import { ignoredPaths } from '../../process/git-status.ts';
import { entriesOf, entriesToKeep } from '../../process/own-files.ts';
import type { Found } from '../../workspace/workspace.ts';
import { fileState, readableAt, stateOfLocated } from '../found.ts';
import { keepBytesOf } from '../old-bytes.ts';
import { isOutput } from '../outputs.ts';
import { reachOutside } from '../outside.ts';
import type { World } from '../world.ts';
import type { EndState } from './known-after.ts';

/** Larger files are not kept before a command. */
export const MAX_FILE_BYTES: number = 8 << 20;
/** Maximum number of ignored files that are kept before a command. */
const MAX_IGNORED = 2_000;

/** Stands for bytes that were not kept. No file has this hash. */
export const UNKNOWN_BYTES: Fingerprint = { sha256: '0'.repeat(64), size: 0 };

/** The files that no commit has and that a command may destroy, as they are before the command. */
interface KeptBefore {
  readonly effects: readonly Effect[];
  readonly trees: readonly WholeTree[];
  /** The reason why not everything is covered. */
  readonly uncovered?: string;
}

interface Threatened {
  readonly harm: Harm;
  /** The roots that no layer covers. */
  readonly roots: readonly string[];
  /** Other worktrees of the repository. */
  readonly worktrees: readonly string[];
  /** Absolute paths of the repositories inside the roots. */
  readonly nested: readonly string[];
  /** Keys of files that are kept already. */
  readonly known: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/**
 * Keeps what a command may destroy and no commit has: git's references, logs and index, ignored
 * files and nested repositories. A file that has not changed since an earlier command is not read
 * again.
 */
export async function keepOwnFiles(world: World, threatened: Threatened): Promise<KeptBefore> {
  const trees = treesIn(world, threatened);
  const listed = trees.map((tree) => entriesOf(tree));
  const large = trees.find((_, at) => listed[at] === undefined);
  const ignored = await ignoredIn(world, threatened);
  const paths = [...listed.flatMap((each) => each ?? []), ...('unavailable' in ignored ? [] : ignored.paths)];
  const keeping = new Keeping(world);
  for (const path of new Set(paths)) await keeping.add(path, threatened.known);
  await keeping.sync();
  const reason =
    large === undefined
      ? 'unavailable' in ignored
        ? ignored.unavailable
        : ignored.reason
      : `${large.folder} has too many files to keep`;
  return {
    effects: keeping.effects,
    trees: trees.filter((_, at) => listed[at] !== undefined),
    ...(reason === undefined ? {} : { uncovered: reason }),
  };
}

/** Keeps what is at paths outside the workspace, as far as the budget allows. Lets the gate reach them. */
export async function keepOutside(
  world: World,
  outside: OutsidePaths | undefined,
): Promise<readonly Effect[]> {
  if (outside === undefined) return [];
  const keeping = new Keeping(world);
  for (const path of entriesToKeep(outside))
    if (reachOutside(world, path) && !(await keeping.add(path, NONE))) keeping.addAbsent(path);
  await keeping.sync();
  return keeping.effects;
}

const NONE: ReadonlySet<string> = new Set();

/** Keeps files until the budget of the policy is used up. */
class Keeping {
  readonly effects: Effect[] = [];
  readonly #world: World;
  #bytes = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Keeps what is at a path, unless it is known or forbidden. False if nothing is there. */
  async add(path: string, known: ReadonlySet<string>): Promise<boolean> {
    const named = this.#world.workspace.pathOf(path);
    if (named === undefined || known.has(named.key)) return true;
    const outcome = this.#world.workspace.locate(path, 'undo', 'parents');
    if (!outcome.ok) return true;
    const { located } = outcome;
    try {
      const { key, relative } = located.place.path;
      if (key !== named.key) return true;
      if (!located.exists) return false;
      const kept = await this.#kept(located, key);
      if (kept !== undefined)
        this.effects.push({ key, relative, before: kept.side, after: kept.side, ...kept.since });
      return true;
    } finally {
      located.place.dir.close();
    }
  }

  /** Records that nothing is at a path, so that what a command puts there is recorded. */
  addAbsent(path: string): void {
    const named = this.#world.workspace.pathOf(path);
    if (named === undefined) return;
    const { key, relative } = named;
    this.effects.push({ key, relative, before: ABSENT, after: ABSENT });
  }

  async sync(): Promise<void> {
    if (this.#world.policy.durability !== 'none') await this.#world.images.sync();
  }

  async #kept(
    located: Found,
    key: string,
  ): Promise<{ readonly side: State; readonly since?: Pick<Effect, 'sinceUs'> } | undefined> {
    const { stats, place } = located;
    if (stats.isDirectory()) return { side: { kind: 'directory', mode: Number(stats.mode & 0o777n) } };
    if (stats.isSymbolicLink()) return { side: { kind: 'link', target: linkTarget(place) ?? '' } };
    if (!stats.isFile()) return undefined;
    const since = { sinceUs: microseconds(stats.ctimeNs) };
    const size = Number(stats.size);
    if (size > MAX_FILE_BYTES || this.#bytes + size > this.#world.policy.hooks.keepBytes)
      return { side: fileState(UNKNOWN_BYTES, modeOf(stats) & 0o777, 'none'), since };
    this.#bytes += size;
    const known = this.#world.keptFiles.get(key);
    if (known !== undefined && sameStamp(known.stamp, stampOf(stats))) return { side: known.side, since };
    const found = await readable(this.#world, located);
    if (found?.snapshot === undefined) return undefined;
    await this.#store(place.path.relative, found.snapshot);
    // A file that was just written may change again without another time.
    if (found.stamp === undefined) return { side: found.side };
    this.#world.keptFiles.set(key, { stamp: found.stamp, side: found.side });
    return { side: found.side, since };
  }

  async #store(relative: string, snapshot: Snapshot): Promise<void> {
    const { images } = this.#world;
    const { bytes, fingerprint } = snapshot;
    const isHere = images.hasHere?.(fingerprint.sha256, 'rely') ?? images.has(fingerprint.sha256, 'rely');
    if (!(await isHere))
      await (images.keepHere?.(bytes, fingerprint) ?? keepBytesOf(this.#world, relative, snapshot));
  }
}

async function readable(
  world: World,
  located: Found,
): Promise<Awaited<ReturnType<typeof stateOfLocated>> | undefined> {
  try {
    return await stateOfLocated(world, located);
  } catch {
    // A file that cannot be read cannot be kept. The command may run all the same.
    return undefined;
  }
}

/** The trees to keep: the git folders of the roots, and the repositories inside the roots. */
function treesIn({ workspace }: World, { harm, roots, nested }: Threatened): readonly WholeTree[] {
  const folders = roots.flatMap((root) => gitFolderOf(root) ?? []);
  const own = folders.map((folder): WholeTree => ({ folder, entries: harm === 'git' ? 'all' : 'own' }));
  // Other worktrees have snapshots of their own.
  const inner = nested
    .filter((folder) => commonGitFolder(folder) === undefined)
    .map((folder): WholeTree => ({ folder, entries: 'all' }));
  return [...own, ...inner].filter(({ folder }) => workspace.pathOf(folder) !== undefined);
}

/** The ignored files in the roots and worktrees, without those in folders with installed packages or the results of builds. */
async function ignoredIn(
  world: World,
  { roots, worktrees, signal }: Threatened,
): Promise<
  { readonly paths: readonly string[]; readonly reason?: string } | { readonly unavailable: string }
> {
  // Git's own list leaves out the file that names a worktree's git folder.
  const paths = worktrees.map((top) => `${top}/.git`);
  for (const root of [...roots, ...worktrees]) {
    if (gitFolderOf(root) === undefined) continue;
    const ignored = await ignoredPaths(root, signal);
    if ('unavailable' in ignored) return ignored;
    for (const path of ignored.flatMap((each) => belowIgnored(world, root, each)))
      if (paths.length < MAX_IGNORED) paths.push(path);
      else return { paths, reason: 'git ignores more files than are kept' };
  }
  return { paths };
}

/** The files of one entry of git's list of ignored paths. Empty for the results of builds. */
function belowIgnored(world: World, root: string, ignored: string): readonly string[] {
  const relative = ignored.replace(/\/$/, '');
  const folder = `${root}/${relative}`;
  if (isOutput(world, relative) || isWithin(folder, world.home)) return [];
  if (relative === ignored) return [folder];
  // List one entry too many if there are too many, so that the caller notices it.
  const inside = entriesOf({ folder, entries: 'all' }) ?? Array<string>(MAX_IGNORED + 1).fill(folder);
  return inside.filter((each) => !isOutput(world, each.slice(root.length + 1)));
}

/** The entries of kept trees that the command has added. */
export async function addedTo(
  world: World,
  trees: readonly WholeTree[],
  known: ReadonlySet<string>,
): Promise<readonly EndState[]> {
  const added: EndState[] = [];
  for (const path of trees.flatMap((tree) => entriesOf(tree) ?? [])) {
    const named = world.workspace.pathOf(path);
    if (named === undefined || known.has(named.key)) continue;
    const { key, relative } = named;
    const now = await readableAt(world, key);
    if (now !== undefined) added.push({ effect: { key, relative, before: ABSENT, after: ABSENT }, now });
  }
  return added;
}

/** True if a file has not changed since its state before a command was recorded with its time. */
export function isSince({ workspace }: World, { key, before, sinceUs }: Effect): boolean {
  if (sinceUs === undefined || before.kind !== 'file') return false;
  const outcome = workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok) return false;
  const { located } = outcome;
  located.place.dir.close();
  return (
    located.exists &&
    located.place.path.key === key &&
    located.stats.isFile() &&
    microseconds(located.stats.ctimeNs) === sinceUs
  );
}
