import { type Delta, type State, sameContent } from '../../model/delta.ts';
import type { MovableFolder, PendingChange } from '../../model/entry.ts';
import { inodeOf } from '../../model/fingerprint.ts';
import { at, foldersAbove, isBelow, isWithin } from '../../model/path.ts';
import type { Notice } from '../../model/results.ts';
import type { Sighting } from '../../model/sighting.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import type { Found, Located } from '../../workspace/workspace.ts';
import type { World } from '../world.ts';
import type { EndState } from './known-after.ts';

type Stats = Found['stats'];

/**
 * A new file can get a time that is slightly too early: file systems use the time of the kernel's
 * last tick (up to 10 ms ago), and some round it down to 10 ms.
 */
const CLOCK_MARGIN_MS = 20;

/** Maximum number of files that a notice names. */
const MAX_NAMED = 20;

/** The deltas of a change. `older`: paths of files that are left out, relative to the root. */
export interface OwnDeltas {
  readonly deltas: readonly Delta[];
  readonly older: readonly string[];
}

/**
 * Leaves out the creation of files that are older than the command. The command has moved them from
 * a path that was not recorded, for example because git ignores it. Or git did not list them
 * before, for example because they were in a nested repository. An undo that removed such a file
 * would remove the only copy. The folders around such files are left out, too.
 */
export function withoutOlderFiles(
  world: World,
  { entry, host }: PendingChange,
  { deltas, endStates }: { readonly deltas: readonly Delta[]; readonly endStates: readonly EndState[] },
): OwnDeltas {
  if (host?.command === undefined) return { deltas, older: [] };
  const beganNs = BigInt(entry.atMs - CLOCK_MARGIN_MS) * 1_000_000n;
  const isRestored = restoredBy(endStates, host.command.movable ?? []);
  const older = deltas.filter(({ key, before, after }) => {
    if (before.kind !== 'absent' || (after.kind !== 'file' && after.kind !== 'link')) return false;
    const stats = statsOfOlder(world, key, beganNs);
    return stats !== undefined && !isRestored(after, stats);
  });
  const moved = movedFolders(world, host.command.folders ?? [], { deltas, older, endStates });
  const isMoved = ({ key }: Delta): boolean => moved.some((folder) => isWithin(key, folder.key));
  const stay = older.filter((delta) => !isMoved(delta));
  const left = new Set(stay.map(({ key }) => key));
  for (const folder of foldersAbove([...left])) left.add(folder);
  const own = deltas.filter(
    (delta) => !isMoved(delta) && (delta.before.kind !== 'absent' || !left.has(delta.key)),
  );
  return { deltas: [...moved, ...own], older: stay.map(({ relative }) => relative) };
}

/**
 * Deltas for folders that the command has moved with all their contents. An undo moves the folder
 * back. Leaves out a folder if files in it were recorded before the command or are new: they have
 * deltas of their own.
 */
function movedFolders(
  world: World,
  folders: readonly MovableFolder[],
  {
    deltas,
    older,
    endStates,
  }: {
    readonly deltas: readonly Delta[];
    readonly older: readonly Delta[];
    readonly endStates: readonly EndState[];
  },
): readonly Delta[] {
  const isOlder = new Set(older);
  return folders.flatMap(({ inode, ...source }): readonly Delta[] => {
    const target = deltas.find(
      ({ key, before, after }) =>
        before.kind === 'absent' && after.kind === 'directory' && inodeAt(world, key) === inode,
    );
    if (target === undefined || inodeAt(world, source.key) !== undefined) return [];
    const isInside = ({ key }: Delta): boolean => isBelow(key, source.key) || isBelow(key, target.key);
    const isRecorded = endStates.some(({ delta }) => delta.before.kind !== 'absent' && isInside(delta));
    const isNew = deltas.some(
      (delta) => isInside(delta) && delta.after.kind !== 'directory' && !isOlder.has(delta),
    );
    if (isRecorded || isNew) return [];
    return [{ ...target, movedFrom: source }];
  });
}

function inodeAt({ workspace }: World, key: string): string | undefined {
  const found = workspace.resolve(key, 'undo', 'parents');
  return found.ok && found.exists && found.path.key === key ? inodeOf(found.stats) : undefined;
}

/**
 * Returns a function that is true for a moved file that an undo restores at its old path: one that
 * was stored before the command, or that has the content of a recorded file that is gone.
 */
function restoredBy(
  endStates: readonly EndState[],
  movable: readonly string[],
): (side: State, stats: Stats) => boolean {
  const stored = new Set(movable);
  const recorded = new Set(endStates.map(({ delta }) => contentOf(delta.before)));
  const gone = new Set(
    endStates.flatMap(({ delta: { before }, now }) =>
      sameContent(before, now.side) ? [] : [contentOf(before)],
    ),
  );
  return (side, stats) =>
    stored.has(inodeOf(stats)) ||
    // A file with several names may be a new hard link to a recorded file, which is still there.
    (stats.nlink > 1n ? recorded : gone).has(contentOf(side));
}

function contentOf(side: State): string {
  if (side.kind === 'file') return side.fingerprint.sha256;
  return side.kind === 'link' ? `link ${side.target}` : side.kind;
}

/** Stat fields of a file that was created before a time. Undefined if it is newer, or its age is unknown. */
function statsOfOlder(world: World, key: string, beganNs: bigint): Stats | undefined {
  const look = (located: Located): Stats | undefined => {
    if (!located.exists || located.place.path.key !== key) return undefined;
    const { birthtimeNs, dev } = located.stats;
    // File systems that do not store the time of creation report 0.
    if (birthtimeNs === 0n || birthtimeNs >= beganNs) return undefined;
    return world.disk.clock.isRemote(dev, at(located.place)) ? undefined : located.stats;
  };
  return world.workspace.atOnce({ path: key, action: 'undo', links: 'parents' }, look, () => undefined);
}

/** A notice that names some files and counts the others. None if there are no files. */
export function filesNotice(
  kind: 'older-files' | 'changed-seen-files' | 'not-kept',
  files: readonly string[],
): readonly Notice[] {
  const paths = files.slice(0, MAX_NAMED);
  return files.length === 0 ? [] : [{ kind, paths, cut: files.length - paths.length }];
}

/** The notice about files that the session had seen, and of which a command left lines that it has not seen. */
export async function changedSeenNotices(
  knowledge: Knowledge,
  deltas: readonly Delta[],
  known: readonly Sighting[],
): Promise<readonly Notice[]> {
  const seen = new Set(known.map(({ key }) => key));
  const changed: string[] = [];
  for (const { key, relative, before, after } of deltas) {
    if (!seen.has(key) || sameContent(before, after)) continue;
    if ((await knowledge.recall(key))?.coverage.kind !== 'whole') changed.push(relative);
  }
  return filesNotice('changed-seen-files', changed);
}

/** The notice about files whose earlier bytes were not kept, so that an undo cannot restore them. */
export function notKeptNotices(deltas: readonly Delta[]): readonly Notice[] {
  const lost = deltas.flatMap(({ relative, before, after }) =>
    before.kind === 'file' && !before.kept && !sameContent(before, after) ? [relative] : [],
  );
  return filesNotice('not-kept', lost);
}
