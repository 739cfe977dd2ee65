import { listNames } from '../../disk/list.ts';
import type { UndoPlans } from '../../journal/undo-plan.ts';
import type { UndoDelta } from '../../journal/undo-steps.ts';
import type { UndoSelection } from '../../model/session.ts';
import type { Refusal } from '../../model/verdict.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { sideAt } from '../found.ts';
import { listingFingerprint } from '../tree.ts';
import type { World } from '../world.ts';

/** A refusal names at most this many files. The files after them are not checked, only counted. */
const MAX_NAMED = 20;

/** The selected change, and who undoes it. */
interface Undoer extends Pick<UndoSelection, 'change'> {
  readonly by?: 'session';
}

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
  { plans, selection }: { readonly plans: UndoPlans; readonly selection: Undoer },
): Promise<Refusal | undefined> {
  const { change, by } = selection;
  if (by !== 'session' || change === undefined) return undefined;
  const [entry] = await world.store.entries({ change, kinds: ['change'], limit: 1 });
  return entry?.session === knowledge.session ? undefined : whyUnseen(world, knowledge, plans.plan.steps);
}

/**
 * The refusal for undoing another session's change. Undefined if this session has seen the whole
 * present content of every file concerned. If a file is absent now, the session must have deleted
 * it, or have listed its folder in the present state.
 */
async function whyUnseen(
  world: World,
  knowledge: Knowledge,
  steps: readonly UndoDelta[],
): Promise<Refusal | undefined> {
  const refusals: Refusal[] = [];
  let unchecked = steps.length;
  for (const step of steps) {
    unchecked -= 1;
    const { lookAt } = step;
    const view = lookAt === undefined ? undefined : await missingView(world, knowledge, lookAt);
    if (view !== undefined)
      refusals.push({
        code: 'NOT_READ',
        action: 'undo',
        path: view.folder ?? world.workspace.shownAt(step),
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
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok || outcome.located.exists) return undefined;
  const { place, missing } = outcome.located;
  try {
    const above = (path: string): string => path.split('/').slice(0, -missing.length).join('/');
    const seen = await knowledge.recall(above(key));
    const isWhole = seen?.coverage.kind === 'whole';
    if (isWhole && seen.fingerprint?.sha256 === listingFingerprint(listNames(place.dir)).sha256)
      return undefined;
    return { next: 'list', folder: above(world.workspace.shown(place.path)) || '.' };
  } finally {
    place.dir.close();
  }
}
