import { listNames } from '../../disk/list.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Refusal } from '../../model/verdict.ts';
import { sideAt } from '../side-at.ts';
import { listingFingerprint } from '../tree.ts';
import type { World } from '../world.ts';

/** More files than this are not named one by one. */
const MAX_NAMED = 20;

/**
 * Why a session may not take back a change that another session made: it must have seen every file concerned, all of it and
 * as it is now. Where nothing is now, it must have deleted the file itself or have listed the folder as it is.
 */
export async function whyUnseen(
  world: World,
  ledger: Ledger,
  steps: readonly UndoStep[],
): Promise<Refusal | undefined> {
  const refusals: Refusal[] = [];
  for (const { lookAt, relative } of steps) {
    const view = lookAt === undefined ? undefined : await missingView(world, ledger, lookAt);
    if (view !== undefined)
      refusals.push({ code: 'NOT_READ', action: 'undo', path: view.folder ?? relative, next: view.next });
    if (refusals.length === MAX_NAMED) break;
  }
  const [first] = refusals;
  if (first === undefined || refusals.length === 1) return first;
  return { ...first, detail: { refusals } };
}

/** What the session has to look at first: a file, or a folder as a relative path. */
interface MissingView {
  readonly next: 'read' | 'list';
  readonly folder?: string;
}

async function missingView(world: World, ledger: Ledger, key: string): Promise<MissingView | undefined> {
  const side = await sideAt(world, key);
  const seen = await ledger.recall(key);
  if (side.kind === 'file') {
    const isWhole = seen?.coverage.kind === 'whole' && !seen.flags.clamped && !seen.flags.redacted;
    return isWhole && seen.fingerprint?.sha256 === side.fingerprint.sha256 ? undefined : { next: 'read' };
  }
  // A folder is only removed if it is empty, and a link holds nothing that could be lost.
  if (side.kind !== 'absent' || seen?.tombstone === true) return undefined;
  return unlistedFolder(world, ledger, key);
}

/** The folder in which nothing has this key, unless the session has listed it as it is now. */
async function unlistedFolder(world: World, ledger: Ledger, key: string): Promise<MissingView | undefined> {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok || outcome.located.exists) return undefined;
  const { place, missing } = outcome.located;
  try {
    const above = (path: string): string => path.split('/').slice(0, -missing.length).join('/');
    const seen = await ledger.recall(above(key));
    const isWhole = seen?.coverage.kind === 'whole';
    if (isWhole && seen.fingerprint?.sha256 === listingFingerprint(listNames(place.dir)).sha256)
      return undefined;
    return { next: 'list', folder: above(place.path.relative) || '.' };
  } finally {
    place.dir.close();
  }
}
