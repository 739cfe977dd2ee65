import { modeOf, type Snapshot, stampOf } from '../../disk/read.ts';
import { ABSENT, type Delta, microseconds, type State } from '../../model/delta.ts';
import type { TreeSnapshot, WholeTree } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import { type Fingerprint, sameStamp } from '../../model/fingerprint.ts';
import { isWithin } from '../../model/path.ts';
import type { Harm, OutsidePaths } from '../../model/session.ts';
import { commonGitFolder, gitFolderOf } from '../../process/git.ts';
import { entriesOf, entriesToKeep } from '../../process/own-files.ts';
import type { Found, Located } from '../../workspace/workspace.ts';
import { fileState, foundAt, reachOutside, readableAt, stateOfLocated, stateWithoutBytes } from '../found.ts';
import { keepBytesOf, syncImages } from '../old-bytes.ts';
import { outputTest } from '../outputs.ts';
import type { World } from '../world.ts';
import type { EndState } from './known-after.ts';

/** Larger files are not kept before a command, unless no commit has them and git lists them. */
export const MAX_FILE_BYTES: number = 8 << 20;
/** Maximum number of ignored files, and of files that are not committed, that are kept before a command. */
const MAX_LISTED = 2_000;

/** Stands for bytes that were not kept. No file has this hash. */
export const UNKNOWN_BYTES: Fingerprint = { sha256: '0'.repeat(64), size: 0 };

/** Keeps the present state of paths before a command, until the budget of the policy is used up. */
export class Keeping {
  readonly deltas: Map<string, Delta> = new Map();
  readonly #world: World;
  #bytes = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Keeps what is at a path. A file over the limits is recorded without its bytes. A path that is
   * protected, or that leads elsewhere by a link, is left out.
   */
  async add(path: string, maxBytes: number = MAX_FILE_BYTES): Promise<'kept' | 'too large' | 'absent'> {
    const named = this.#world.workspace.pathOf(path);
    if (named === undefined || this.deltas.has(named.key)) return 'kept';
    const keep = async (located: Located): Promise<'kept' | 'too large' | 'absent'> => {
      const { key, relative } = located.place.path;
      if (key !== named.key) return 'kept';
      if (!located.exists) return 'absent';
      const limit = Math.min(maxBytes, this.left);
      const kept = await this.#kept(located, limit);
      if (kept !== undefined)
        this.deltas.set(key, { key, relative, before: kept.side, after: kept.side, ...kept.since });
      return Number(located.stats.size) > limit ? 'too large' : 'kept';
    };
    return this.#world.workspace.at({ path, action: 'undo', links: 'parents' }, keep, () => 'kept');
  }

  /** The bytes that may still be kept. */
  get left(): number {
    return this.#world.policy.hooks.keepBytes - this.#bytes;
  }

  /** Records that nothing is at a path, so that what a command puts there is recorded. */
  addAbsent(path: string): void {
    const named = this.#world.workspace.pathOf(path);
    if (named === undefined) return;
    const { key, relative } = named;
    this.deltas.set(key, { key, relative, before: ABSENT, after: ABSENT });
  }

  async #kept(
    { stats, place }: Found,
    limit: number,
  ): Promise<{ readonly side: State; readonly since?: Pick<Delta, 'sinceUs'> } | undefined> {
    const unread = stateWithoutBytes({ exists: true, stats, place });
    if (unread !== undefined) return { side: unread };
    if (!stats.isFile()) return undefined;
    const since = { sinceUs: microseconds(stats.ctimeNs) };
    if (stats.size > limit) return { side: fileState(UNKNOWN_BYTES, modeOf(stats) & 0o777, 'none'), since };
    this.#bytes += Number(stats.size);
    const { key } = place.path;
    const known = this.#world.keptFiles.get(key);
    if (known !== undefined && sameStamp(known.stamp, stampOf(stats))) return { side: known.side, since };
    const found = await readable(this.#world, { exists: true, stats, place });
    if (found?.snapshot === undefined) return undefined;
    const { snapshot } = found;
    const file = { relative: place.path.relative, sha256: snapshot.fingerprint.sha256 };
    await storeIfMissing(this.#world, { ...file, where: 'here' }, async () => snapshot);
    // A file that was just written may change again without another time.
    if (found.stamp === undefined) return { side: found.side };
    this.#world.keptFiles.set(key, { stamp: found.stamp, side: found.side });
    return { side: found.side, since };
  }
}

/**
 * Stores the bytes that another program's changes are about to destroy. A file that only moves is
 * not destroyed. `here`: in a fleet, the bytes stay on this machine.
 */
export async function keepBefore(
  world: World,
  deltas: readonly Delta[],
  where: 'shared' | 'here' = 'shared',
): Promise<void> {
  for (const { key, relative, before } of deltas) {
    if (before.kind !== 'file' || !before.kept) continue;
    const { sha256 } = before.fingerprint;
    await storeIfMissing(world, { relative, sha256, where }, async () => {
      const { snapshot } = await foundAt(world, key);
      if (snapshot !== undefined) return snapshot;
      throw new Fault('IO_FAILED', `cannot keep the present bytes of ${key}`, { path: key });
    });
  }
  await syncImages(world);
}

interface FileToStore {
  readonly relative: string;
  readonly sha256: string;
  readonly where: 'shared' | 'here';
}

async function storeIfMissing(
  world: World,
  { relative, sha256, where }: FileToStore,
  read: () => Promise<Snapshot>,
): Promise<void> {
  const { images } = world;
  const isHere = where === 'here' ? images.hasHere?.(sha256, 'rely') : undefined;
  if (await (isHere ?? images.has(sha256, 'rely'))) return;
  const snapshot = await read();
  const { bytes, fingerprint } = snapshot;
  const keeping = where === 'here' ? images.keepHere?.(bytes, fingerprint) : undefined;
  await (keeping ?? keepBytesOf(world, relative, snapshot));
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

/**
 * Keeps the files of a snapshot whose bytes git does not have. Files that git has converted are kept
 * as far as the limits allow: after the command, those that it changed are named. Returns the reason
 * if the others exceed the limits.
 */
export async function keepLoose(
  keeping: Keeping,
  { root, loose, converted }: TreeSnapshot,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (loose.length > MAX_LISTED) return `more than ${MAX_LISTED} files are not committed`;
  for (const path of loose) {
    if (signal.aborted) return 'the time limit was reached';
    const added = await keeping.add(`${root}/${path}`, keeping.left);
    if (added === 'too large') return 'the files that are not committed are too large';
  }
  for (const path of converted.slice(0, MAX_LISTED - loose.length))
    await keeping.add(`${root}/${path}`, keeping.left);
  return undefined;
}

interface Threatened {
  readonly harm: Harm;
  /** The roots that no layer covers. */
  readonly roots: readonly string[];
  /** Other worktrees of the repository. */
  readonly worktrees: readonly string[];
  /** Absolute paths of the repositories inside the roots. */
  readonly nested: readonly string[];
  /** The paths that git ignores in the roots and worktrees. */
  readonly ignored: readonly IgnoredPath[];
}

/** A path that git ignores, relative to a root. A folder of which it ignores everything ends with a slash. */
interface IgnoredPath {
  readonly root: string;
  readonly path: string;
}

/**
 * Keeps what a command may destroy and git lists nowhere: references, logs and index, ignored files
 * and nested repositories. `uncovered`: the reason why not everything is kept.
 */
export async function keepOwnFiles(
  world: World,
  keeping: Keeping,
  threatened: Threatened,
): Promise<{ readonly trees: readonly WholeTree[]; readonly uncovered: string | undefined }> {
  const trees = treesIn(world, threatened);
  const listed = trees.map((tree) => entriesOf(tree));
  const isOutput = outputTest(world);
  const ignored = threatened.ignored.flatMap((each) => belowIgnored(world, each, isOutput));
  // Git's own list leaves out the file that names a worktree's git folder.
  const pointers = threatened.worktrees.map((top) => `${top}/.git`);
  const paths = [...listed.flatMap((each) => each ?? []), ...pointers, ...ignored.slice(0, MAX_LISTED)];
  for (const path of paths) await keeping.add(path);
  const large = trees.find((_, at) => listed[at] === undefined);
  const tooMany = ignored.length > MAX_LISTED ? 'git ignores more files than are kept' : undefined;
  return {
    trees: trees.filter((_, at) => listed[at] !== undefined),
    uncovered: large === undefined ? tooMany : `${large.folder} has too many files to keep`,
  };
}

/** Keeps what is at paths outside the workspace, as far as the budget allows. Lets the gate reach them. */
export async function keepOutside(
  world: World,
  keeping: Keeping,
  outside: OutsidePaths | undefined,
): Promise<void> {
  for (const path of outside === undefined ? [] : entriesToKeep(outside))
    if (reachOutside(world, path) && (await keeping.add(path)) === 'absent') keeping.addAbsent(path);
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

/** The files of one entry of git's list of ignored paths. Empty for the results of builds. */
function belowIgnored(
  world: World,
  { root, path: ignored }: IgnoredPath,
  isOutput: (relative: string) => boolean,
): readonly string[] {
  const relative = ignored.replace(/\/$/, '');
  const folder = `${root}/${relative}`;
  if (isOutput(relative) || isWithin(folder, world.home)) return [];
  if (relative === ignored) return [folder];
  // List one entry too many if there are too many, so that the caller notices it.
  const inside = entriesOf({ folder, entries: 'all' }) ?? Array<string>(MAX_LISTED + 1).fill(folder);
  return inside.filter((each) => !isOutput(each.slice(root.length + 1)));
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
    if (now !== undefined) added.push({ delta: { key, relative, before: ABSENT, after: ABSENT }, now });
  }
  return added;
}

/** True if a file has not changed since its state before a command was recorded with its time. */
export function isSince({ workspace }: World, { key, before, sinceUs }: Delta): boolean {
  if (sinceUs === undefined || before.kind !== 'file') return false;
  const found = workspace.resolve(key, 'undo', 'parents');
  if (!found.ok || !found.exists || found.path.key !== key) return false;
  return found.stats.isFile() && microseconds(found.stats.ctimeNs) === sinceUs;
}
