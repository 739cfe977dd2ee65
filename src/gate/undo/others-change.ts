import { listNames } from '../../disk/list.ts';
import type { Inverse } from '../../journal/inverses.ts';
import type { NamedPath } from '../../model/delta.ts';
import type { Refusal } from '../../model/verdict.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import type { Located } from '../../workspace/workspace.ts';
import { sideAt } from '../found.ts';
import { listingFingerprint } from '../tree.ts';
import type { World } from '../world.ts';
import type { ChosenChanges, UndoRequest } from './choice.ts';
import { placeBefore } from './picture.ts';

/** A refusal names at most this many files. The files after them are not checked, only counted. */
const MAX_NAMED = 20;

/**
 * The action that the session must take before it may undo: read the file, or list a folder.
 * `folder`: the path of that folder, as messages show it.
 */
interface MissingView {
  readonly next: 'read' | 'list';
  readonly folder?: string;
}

/**
 * The refusal if another session made the selected change and this session may not undo it. Checked
 * before any bytes are compared.
 */
export async function whyNotTheirs(
  world: World,
  knowledge: Knowledge,
  { chosen, selection }: { readonly chosen: ChosenChanges; readonly selection: UndoRequest },
): Promise<Refusal | undefined> {
  const [first] = chosen.selection;
  if (selection.by !== 'session' || selection.change === undefined) return undefined;
  if (first === undefined || first.entry.session === knowledge.session) return undefined;
  return whyUnseen(world, knowledge, placesNow(chosen.inverses));
}

/** The present places of the entries that an undo concerns, each with the path that messages name. */
function placesNow(inverses: readonly Inverse[]): ReadonlyMap<string, NamedPath> {
  const places = new Map<string, NamedPath>();
  const moves: { readonly from: string; readonly to: string }[] = [];
  for (const inverse of inverses) {
    const { key: to, after, movedFrom } = inverse;
    for (const path of movedFrom === undefined ? [inverse] : [inverse, movedFrom]) {
      const place = placeBefore(moves, path.key);
      if (!places.has(place)) places.set(place, path);
    }
    if (movedFrom !== undefined && after.kind === 'directory') moves.unshift({ from: movedFrom.key, to });
  }
  return new Map([...places].reverse());
}

/**
 * The refusal for undoing another session's change. Undefined if this session has seen the whole
 * present content of every file concerned. If a file is absent now, the session must have deleted
 * it, or have listed its folder in the present state.
 */
async function whyUnseen(
  world: World,
  knowledge: Knowledge,
  places: ReadonlyMap<string, NamedPath>,
): Promise<Refusal | undefined> {
  const refusals: Refusal[] = [];
  let unchecked = places.size;
  for (const [key, path] of places) {
    unchecked -= 1;
    const view = await missingView(world, knowledge, key);
    if (view !== undefined)
      refusals.push({
        code: 'NOT_READ',
        action: 'undo',
        path: view.folder ?? world.workspace.shownAt(path),
        next: view.next,
      });
    if (refusals.length === MAX_NAMED) break;
  }
  const [first] = refusals;
  if (first === undefined || refusals.length === 1) return first;
  return { ...first, detail: { refusals, ...(unchecked === 0 ? {} : { unchecked }) } };
}

async function missingView(
  world: World,
  knowledge: Knowledge,
  key: string,
): Promise<MissingView | undefined> {
  const side = await sideAt(world, key);
  const seen = await knowledge.recall(key);
  if (side.kind === 'file') {
    const isWhole = seen?.coverage.kind === 'whole' && !seen.flags.clamped && !seen.flags.redacted;
    return isWhole && seen.fingerprint?.sha256 === side.fingerprint.sha256 ? undefined : { next: 'read' };
  }
  // A folder or link need not have been seen: an undo removes only empty folders, and a link has no
  // content to lose. A file that this session deleted itself need not be seen either.
  if (side.kind !== 'absent' || seen?.tombstone === true) return undefined;
  return unlistedFolder(world, knowledge, key);
}

/**
 * The folder in which this key is absent. Undefined if the session has listed that folder in its
 * present state.
 */
async function unlistedFolder(
  world: World,
  knowledge: Knowledge,
  key: string,
): Promise<MissingView | undefined> {
  const look = async (located: Located): Promise<MissingView | undefined> => {
    if (located.exists) return undefined;
    const { place, missing } = located;
    const above = (path: string): string => path.split('/').slice(0, -missing.length).join('/');
    const seen = await knowledge.recall(above(key));
    const isWhole = seen?.coverage.kind === 'whole';
    if (isWhole && seen.fingerprint?.sha256 === listingFingerprint(listNames(place.dir)).sha256)
      return undefined;
    return { next: 'list', folder: above(world.workspace.shown(place.path)) || '.' };
  };
  return world.workspace.at({ path: key, action: 'undo', links: 'parents' }, look, () => undefined);
}
