import { listNames } from '../disk/list.ts';
import type { FolderFacts } from '../judge/facts.ts';
import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FileIntent } from '../model/intent.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Found } from '../workspace/workspace.ts';
import { cure } from './cure.ts';
import { removeFolderStep } from './folder-step.ts';
import { heldRefusal } from './held.ts';
import { look, type View } from './look.ts';
import { unverifiable } from './prepare-write.ts';
import { closedUnlessOk, no, type Prepared } from './prepared.ts';
import { removeFileStep, removeLinkStep } from './remove-step.ts';
import { told } from './told.ts';
import { type FolderNode, readTree, type TreeNode } from './tree.ts';
import { doom, removeTreeStep } from './tree-step.ts';
import type { World } from './world.ts';

type DeleteIntent = Extract<FileIntent, { kind: 'delete' }>;

/** Judges a delete: of a file, of a link as a link, or of a folder that this session was shown in full. */
export async function prepareDelete(world: World, ledger: Ledger, intent: DeleteIntent): Promise<Prepared> {
  const outcome = await look(world, ledger, {
    path: intent.path,
    action: 'delete',
    links: 'parents',
    depth: 'bytes',
  });
  if (!outcome.ok) return outcome;
  const { view } = outcome;
  return closedUnlessOk(view, () => judged(world, ledger, { intent, view }));
}

async function judged(
  world: World,
  ledger: Ledger,
  { intent, view }: { intent: DeleteIntent; view: View },
): Promise<Prepared> {
  const { located, snapshot } = view;
  const folder =
    located.exists && located.stats.isDirectory()
      ? await lookInside(world, ledger, { intent, located })
      : undefined;
  const verdict = judge(
    { ...view.facts, ...(folder === undefined ? {} : { folder: folder.facts }) },
    world.policy,
  );
  if (verdict.outcome === 'refuse') {
    const { refusal } = verdict;
    return refusal.code === 'STALE' && folder === undefined ? cure(world, view, { refusal }) : no(refusal);
  }
  if (!located.exists)
    return no({ code: 'NOT_FOUND', action: 'delete', path: intent.path, next: 'other_path' });
  const prepared = await prepareGoing(world, { located, snapshot, folder, errno: view.facts.errno });
  return prepared.ok ? { ok: true, step: told(prepared.step, verdict.notices) } : prepared;
}

interface Leaving extends Pick<View, 'snapshot'> {
  readonly located: Found;
  readonly folder: Inside | undefined;
  readonly errno: string | undefined;
}

async function prepareGoing(world: World, { located, snapshot, folder, errno }: Leaving): Promise<Prepared> {
  if (located.stats.isSymbolicLink()) return { ok: true, step: removeLinkStep(world, located) };
  if (folder !== undefined) return prepareFolder(world, located, folder.nodes);
  if (snapshot === undefined) return no(unverifiable(located.place.path.given, errno));
  return { ok: true, step: removeFileStep(world, located, snapshot) };
}

interface Inside {
  readonly facts: FolderFacts;
  readonly nodes: readonly TreeNode[];
}

async function lookInside(
  world: World,
  ledger: Ledger,
  { intent, located }: { intent: DeleteIntent; located: Found },
): Promise<Inside> {
  const dir = located.place.name === '.' ? located.place.dir : located.place.dir.enter(located.place.name);
  try {
    const recursive = intent.recursive === true;
    const empty = listNames(dir).length === 0;
    if (empty || !recursive) return { facts: { empty, recursive }, nodes: [] };
    const nodes = readTree(world, dir, located.place.path);
    const folders = nodes.filter((node) => node.kind === 'folder');
    const listings = await ledger.recallMany(folders.map(({ path }) => path.key));
    return { facts: { empty, recursive, ...listingFacts(folders, listings) }, nodes };
  } finally {
    if (dir !== located.place.dir) dir.close();
  }
}

/** Every folder of the tree was listed in full, and has the same names now. */
function listingFacts(
  folders: readonly FolderNode[],
  listings: ReadonlyMap<string, Sighting>,
): Pick<FolderFacts, 'listedFull' | 'listingUnchanged'> {
  const seen = folders.map(({ path, listing }) => ({ listing, sighting: listings.get(path.key) }));
  return {
    listedFull: seen.every(
      ({ sighting }) => sighting?.how === 'listing' && sighting.coverage.kind === 'whole',
    ),
    listingUnchanged: seen.every(({ listing, sighting }) => sighting?.fingerprint?.sha256 === listing.sha256),
  };
}

async function prepareFolder(world: World, located: Found, nodes: readonly TreeNode[]): Promise<Prepared> {
  if (nodes.length === 0) return { ok: true, step: removeFolderStep(world, located) };
  const { workspace } = world;
  const held = nodes.find(({ path }) => workspace.isRoot(path) || workspace.protects(path) !== undefined);
  if (held !== undefined) return no(heldRefusal('delete', located.place.path, held.path));
  const readOnly = nodes.find((node) => node.kind === 'file' && node.readOnly);
  if (readOnly !== undefined) return no(readOnlyRefusal(located, readOnly));
  const other = nodes.find((node) => node.kind === 'other');
  if (other !== undefined) return no(otherRefusal(located, other));
  const doomed = await doom(world, nodes);
  if ('reason' in doomed) return no(unverifiable(located.place.path.given));
  return { ok: true, step: removeTreeStep(world, located, doomed) };
}

function readOnlyRefusal(located: Found, node: TreeNode): Refusal {
  const path = located.place.path.given;
  const detail = { kind: 'directory', reason: `in it, ${node.path.relative} is read-only` } as const;
  return { code: 'READ_ONLY', action: 'delete', path, next: 'ask_human', detail };
}

function otherRefusal(located: Found, node: TreeNode): Refusal {
  const path = located.place.path.given;
  const detail = { reason: `in it, ${node.path.relative} may not be deleted` };
  return { code: 'NOT_A_FILE', action: 'delete', path, next: 'ask_human', detail };
}
