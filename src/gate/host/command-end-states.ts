import { fingerprintOf, stampOf } from '../../disk/read.ts';
import {
  ABSENT,
  byPath,
  type Delta,
  type NamedPath,
  type State,
  sameContent,
  sameState,
} from '../../model/delta.ts';
import type { PendingChange, TreeSnapshot } from '../../model/entry.ts';
import { sameFingerprint, sameStamp } from '../../model/fingerprint.ts';
import { isOutside, isWithin } from '../../model/path.ts';
import type { Sighting } from '../../model/sighting.ts';
import { bytesAtSnapshot } from '../../process/git-blobs.ts';
import { isGitIndex, stagedContent } from '../../process/git-index.ts';
import { type Candidate, candidatesSince, dropSnapshot } from '../../process/git-snapshot.ts';
import { type FoundState, fileState, reachOutside, readableAt } from '../found.ts';
import { keepBytesOf, syncImages } from '../old-bytes.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';
import { type BeyondLayer, SNAPSHOT_MS } from './command.ts';
import { addedTo, isSince, UNKNOWN_BYTES } from './keep.ts';
import type { EndState } from './known-after.ts';

/** Everything that a command may have changed, with its state before and now. */
export async function commandEndStates(
  { world, knowledge }: ShownScene,
  { entry, host }: PendingChange,
): Promise<readonly EndState[]> {
  const deltas = byPath(entry.deltas);
  const snapshots = host?.command?.snapshots ?? [];
  const gone = goneWorktrees(world, snapshots);
  reachAll(world, deltas);
  const endStates: EndState[] = [];
  for (const delta of deltas) {
    const sighting = await knowledge.recall(delta.key);
    if (sighting !== undefined && isUntouched(world, delta, sighting)) continue;
    if (isSince(world, delta)) continue;
    const now = await stateAt(world, delta.key, gone);
    if (now !== undefined && !(await isRenewedIndex(world, delta, now))) endStates.push({ delta, now });
  }
  const known = new Set(deltas.map(({ key }) => key));
  endStates.push(...(await addedTo(world, host?.command?.trees ?? [], known)));
  for (const snapshot of snapshots)
    for (const endState of await snapshotEndStates(world, snapshot, { known, gone }))
      endStates.push(endState);
  const replaced = await replacedFolders(world, endStates);
  return [...replaced.values(), ...endStates.filter(({ delta: { key } }) => !replaced.has(key))];
}

/** The changes of a command that its layer did not cover. */
export async function endStatesBeyondLayer(
  world: World,
  { snapshots, deltas }: BeyondLayer,
): Promise<readonly EndState[]> {
  const gone = goneWorktrees(world, snapshots);
  reachAll(world, deltas);
  const known = new Set(deltas.map(({ key }) => key));
  const endStates: EndState[] = [];
  for (const delta of deltas) {
    const now = isSince(world, delta) ? undefined : await stateAt(world, delta.key, gone);
    if (now !== undefined) endStates.push({ delta, now });
  }
  for (const snapshot of snapshots) {
    endStates.push(...(await snapshotEndStates(world, snapshot, { known, gone })));
    dropSnapshot(snapshot);
  }
  return endStates.filter(({ delta, now }) => !sameState(delta.before, now.side));
}

/** Lets the gate reach the paths outside the workspace that were kept before a command. */
function reachAll(world: World, deltas: readonly Delta[]): void {
  const { roots } = world.workspace;
  for (const delta of deltas) if (isOutside(delta, roots)) reachOutside(world, delta.key);
}

/** The worktrees outside the roots that a command has removed. Lets the gate reach the others. */
function goneWorktrees({ workspace }: World, snapshots: readonly TreeSnapshot[]): readonly string[] {
  return snapshots.flatMap(({ root, shared }) =>
    shared !== undefined && workspace.adopt(root) === 'missing' ? [root] : [],
  );
}

/** Like `readableAt`. Everything in a worktree that is gone is absent. */
function stateAt(world: World, key: string, gone: readonly string[]): Promise<FoundState | undefined> {
  if (gone.some((folder) => isWithin(key, folder))) return Promise.resolve({ side: ABSENT });
  return readableAt(world, key);
}

/** True for a git index that stages what it staged before: only stat fields of files differ. */
async function isRenewedIndex(
  world: World,
  { relative, key, before }: Delta,
  now: FoundState,
): Promise<boolean> {
  if (before.kind !== 'file' || !before.kept || now.snapshot === undefined) return false;
  if ((!isGitIndex(relative) && !isGitIndex(key)) || sameContent(before, now.side)) return false;
  const earlier = Buffer.from(await world.images.read(before.fingerprint));
  return stagedContent(earlier) === stagedContent(Buffer.from(now.snapshot.bytes));
}

/**
 * Finds the folders that the command replaced by a file or a link, by key. They are the folders
 * above files that are gone. Git lists no folders, and lists such a file or link as new. But an
 * undo must make the folder again before it can restore the files in it.
 */
async function replacedFolders(
  world: World,
  endStates: readonly EndState[],
): Promise<ReadonlyMap<string, EndState>> {
  const known = new Map(endStates.map((endState) => [endState.delta.key, endState]));
  const replaced = new Map<string, EndState>();
  const checked = new Set<string>();
  for (const { delta, now } of endStates) {
    if (delta.before.kind === 'absent' || now.side.kind !== 'absent') continue;
    for (let at = parentOf(delta); at !== undefined && !checked.has(at.key); at = parentOf(at)) {
      checked.add(at.key);
      const listed = known.get(at.key);
      const found = listed?.now ?? (await readableAt(world, at.key));
      const isOther = found?.side.kind === 'file' || found?.side.kind === 'link';
      if (!isOther || (listed !== undefined && listed.delta.before.kind !== 'absent')) continue;
      // The mode of the folder is unknown. Assume the usual one.
      const before: State = { kind: 'directory', mode: 0o777 & ~process.umask() };
      replaced.set(at.key, { delta: { ...at, before, after: before }, now: found });
    }
  }
  return replaced;
}

/** The folder that contains a path. Undefined if that folder is the root. */
function parentOf({ key, relative }: NamedPath): NamedPath | undefined {
  const end = relative.lastIndexOf('/');
  if (end < 0) return undefined;
  return { key: key.slice(0, key.lastIndexOf('/')), relative: relative.slice(0, end) };
}

/** True if the file's stamp proves that it still has its bytes from before the command. */
function isUntouched(world: World, { key, before }: Delta, { stamp, racy, fingerprint }: Sighting): boolean {
  if (stamp === undefined || racy || before.kind !== 'file' || fingerprint === undefined) return false;
  if (!sameFingerprint(before.fingerprint, fingerprint)) return false;
  const found = world.workspace.resolve(key, 'status', 'parents');
  // If a link has replaced a parent folder, this is another file.
  if (!found.ok || found.path.key !== key) return false;
  return found.exists && found.stats.isFile() && sameStamp(stamp, stampOf(found.stats));
}

async function snapshotEndStates(
  world: World,
  snapshot: TreeSnapshot,
  { known, gone }: { readonly known: ReadonlySet<string>; readonly gone: readonly string[] },
): Promise<readonly EndState[]> {
  const asking = { facts: world.processes.gitFacts, signal: AbortSignal.timeout(SNAPSHOT_MS.after) };
  const candidates = await candidatesSince(snapshot, asking);
  if ('unavailable' in candidates) return [];
  const found: (Candidate & { key: string; relative: string; now: FoundState })[] = [];
  for (const candidate of candidates) {
    // Take the path literally. Git follows no links either. If the command has replaced a folder by
    // a link, the path would otherwise lead to another file.
    const absolute = `${snapshot.root}/${candidate.path}`;
    const path = gone.includes(snapshot.root)
      ? { key: absolute, relative: candidate.path }
      : placeOf(world, absolute);
    if (path === undefined || known.has(path.key)) continue;
    const { key, relative } = path;
    const now = await stateAt(world, key, gone);
    if (now !== undefined) found.push({ ...candidate, key, relative, now });
  }
  const bytes = await bytesAtSnapshot(snapshot, found, asking);
  const endStates: EndState[] = [];
  for (const { key, relative, now, ...candidate } of found) {
    const mode = modeBefore(candidate, now.side);
    const before = await sideBefore(world, { ...candidate, mode }, bytes.get(candidate.path));
    endStates.push({ delta: { key, relative, before, after: before }, now });
  }
  await syncImages(world);
  return endStates;
}

/** The names of a path that commands may change. */
function placeOf({ workspace }: World, absolute: string): NamedPath | undefined {
  const path = workspace.pathOf(absolute);
  return path === undefined || workspace.protectsFrom(path, 'undo') !== undefined ? undefined : path;
}

/**
 * The permissions of a tracked file before the command. Git stores only whether the file is
 * executable, so all other permissions count as unchanged: an undo must not give others access to a
 * file. A deleted file probably had the permissions that the umask leaves.
 */
function modeBefore({ mode = 0o644 }: Candidate, now: State): number {
  const wasExecutable = (mode & 0o100) !== 0;
  if (now.kind !== 'file') return (wasExecutable ? 0o777 : 0o666) & ~process.umask();
  const isExecutable = (now.mode & 0o100) !== 0;
  if (wasExecutable === isExecutable) return now.mode;
  return wasExecutable ? now.mode | ((now.mode & 0o444) >> 2) : now.mode & ~0o111;
}

/**
 * The state, before the command, of a file that the command may have changed. `bytes`: its content
 * then, if it is known. Keeps these bytes for an undo. The caller must sync them.
 */
async function sideBefore(
  world: World,
  { path, blob, mode, link }: Candidate & { readonly mode: number },
  bytes: Buffer | undefined,
): Promise<State> {
  if (blob === undefined) return ABSENT;
  if (bytes === undefined) return fileState(UNKNOWN_BYTES, mode, 'none');
  if (link === true) return { kind: 'link', target: bytes.toString('utf8') };
  const fingerprint = fingerprintOf(bytes);
  await keepBytesOf(world, path, { bytes, fingerprint });
  return fileState(fingerprint, mode, 'kept');
}
