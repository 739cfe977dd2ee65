import { create, makeLink } from '../disk/create.ts';
import { moveIfFree } from '../disk/free-name.ts';
import { fingerprintIfStill } from '../disk/hash-file.ts';
import { linkTarget, listNames } from '../disk/list.ts';
import type { Snapshot } from '../disk/read.ts';
import { remove, removeLink } from '../disk/remove.ts';
import { conflict } from '../disk/replace.ts';
import { modeOf, stampOf } from '../disk/stats.ts';
import type { Facts, FolderFacts } from '../judge/facts.ts';
import { judge } from '../judge/judge.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import { at, type ResolvedPath } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Found } from '../workspace/workspace.ts';
import { cure } from './cure.ts';
import type { Doomed } from './folder-out-step.ts';
import { removeFolderStep } from './folder-step.ts';
import { heldRefusal } from './held.ts';
import { type LookedFile, look } from './look.ts';
import { unverifiable } from './prepare-write.ts';
import { closedUnlessOk, notPrepared, type Prepared } from './prepared.ts';
import { ABSENT, fileSide, sideOf } from './sides.ts';
import type { Done, Step } from './step.ts';
import { told } from './told.ts';
import { type FolderNode, readTree, type TreeNode } from './tree.ts';
import { doom, removeTreeStep } from './tree-step.ts';
import type { World } from './world.ts';

type DeleteIntent = Extract<FileIntent, { kind: 'delete' }>;

/** Judges a delete of a file, of a link itself, or of a folder that this session was shown in full. */
export async function prepareDelete(world: World, ledger: Ledger, intent: DeleteIntent): Promise<Prepared> {
  const outcome = await look(world, ledger, {
    path: intent.path,
    action: 'delete',
    links: 'parents',
    depth: 'bytes',
  });
  if (!outcome.ok) return outcome;
  const { view } = outcome;
  return closedUnlessOk({ view, intent }, () => judged(world, ledger, { intent, view }));
}

async function judged(
  world: World,
  ledger: Ledger,
  { intent, view }: { intent: DeleteIntent; view: LookedFile },
): Promise<Prepared> {
  const { located, snapshot } = view;
  if (intent.only === 'file' && located.exists && located.stats.isDirectory()) {
    const detail = { kind: 'directory' } as const;
    return notPrepared({
      code: 'NOT_A_FILE',
      action: 'delete',
      path: intent.path,
      next: 'other_path',
      detail,
    });
  }
  const folder =
    located.exists && located.stats.isDirectory()
      ? await lookInside(world, ledger, { intent, located })
      : undefined;
  const held = located.exists ? heldAmong(world, folder?.nodes ?? []) : undefined;
  if (held !== undefined) return notPrepared(heldRefusal('delete', located.place.path, held));
  const large = await largeFile(world, view);
  const verdict = judge(
    { ...view.facts, ...large?.facts, ...(folder === undefined ? {} : { folder: folder.facts }) },
    world.policy,
  );
  if (verdict.outcome === 'refuse') {
    const { refusal } = verdict;
    return refusal.code === 'STALE' && folder === undefined
      ? cure(world, view, { refusal })
      : notPrepared(refusal);
  }
  if (!located.exists)
    return notPrepared({ code: 'NOT_FOUND', action: 'delete', path: intent.path, next: 'other_path' });
  const seen = verdict.licence === 'seen' ? await seenFiles(world, ledger, folder) : NOTHING_SEEN;
  const prepared = await prepareGoing(world, {
    located,
    snapshot,
    folder,
    errno: view.facts.errno,
    seen,
    large: large?.fingerprint,
  });
  return prepared.ok ? { ok: true, step: told(prepared.step, verdict.notices) } : prepared;
}

/**
 * The outermost entry that prevents deleting a folder; names inside a protected folder are not disclosed. Checked
 * before judging, because no listing can show all of such a folder.
 */
function heldAmong({ workspace }: World, nodes: readonly TreeNode[]): ResolvedPath | undefined {
  const held = nodes.filter(({ path }) => workspace.isRoot(path) || workspace.protects(path) !== undefined);
  return held.reduce<ResolvedPath | undefined>(
    (outermost, { path }) =>
      outermost !== undefined && outermost.relative.length <= path.relative.length ? outermost : path,
    undefined,
  );
}

/** Hashes a file too large to load, and compares it with what the session saw. */
async function largeFile(
  { policy }: World,
  { located, snapshot, sighting }: LookedFile,
): Promise<{ readonly fingerprint: Fingerprint; readonly facts: Pick<Facts, 'freshness'> } | undefined> {
  if (snapshot !== undefined || !located.exists || !located.stats.isFile()) return undefined;
  if (sighting?.fingerprint === undefined || Number(located.stats.size) <= policy.maxEditBytes)
    return undefined;
  const fingerprint = await fingerprintIfStill(located.place, stampOf(located.stats));
  if (fingerprint === undefined) return undefined;
  const freshness = sameFingerprint(fingerprint, sighting.fingerprint) ? 'same' : 'changed';
  return { fingerprint, facts: { freshness } };
}

interface Leaving extends Pick<LookedFile, 'snapshot'> {
  /** The fingerprint of a file too large to load. */
  readonly large: Fingerprint | undefined;
  readonly located: Found;
  readonly folder: Inside | undefined;
  readonly errno: string | undefined;
  /** The session's sightings of the files in a folder, by key, if the policy requires the files to be unchanged. */
  readonly seen: ReadonlyMap<string, Sighting>;
}

async function prepareGoing(world: World, leaving: Leaving): Promise<Prepared> {
  const { located, snapshot, folder, errno, seen, large } = leaving;
  if (located.stats.isSymbolicLink()) return { ok: true, step: removeLinkStep(world, located) };
  if (folder !== undefined) return prepareFolder(world, located, { ...folder, seen });
  if (large !== undefined) return { ok: true, step: removeLargeStep(world, located, large) };
  if (snapshot === undefined) return notPrepared(unverifiable(located.place.path.given, errno));
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

/** Facts on whether the session listed every folder of the tree in full, and whether the names are still the same. */
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

const NOTHING_SEEN: ReadonlyMap<string, Sighting> = new Map();

async function seenFiles(
  { policy }: World,
  ledger: Ledger,
  folder: Inside | undefined,
): Promise<ReadonlyMap<string, Sighting>> {
  if (folder === undefined || policy.staleness === 'off' || policy.staleness === 'warn') return NOTHING_SEEN;
  const files = folder.nodes.filter((node) => node.kind === 'file');
  return ledger.recallMany(files.map(({ path }) => path.key));
}

/** The first file that has changed since the session saw it. Files that are forgotten or deleted count as not seen. */
function changedMember(doomed: readonly Doomed[], seen: ReadonlyMap<string, Sighting>): Doomed | undefined {
  return doomed.find(({ path, side, stamp }) => {
    const sighting = seen.get(path.key);
    if (side.kind !== 'file' || sighting === undefined || sighting.tombstone === true) return false;
    if (sighting.fingerprint !== undefined) return !sameFingerprint(sighting.fingerprint, side.fingerprint);
    // Pages of a huge file can only be compared by the file's stamp.
    return sighting.stamp !== undefined && stamp !== undefined && !sameStamp(sighting.stamp, stamp);
  });
}

function changedRefusal(located: Found, { path }: Doomed): Refusal {
  const reason = `it changed since it was read, and would be deleted with ${located.place.path.given}`;
  return { code: 'STALE', action: 'delete', path: path.given, next: 'read_again', detail: { reason } };
}

async function prepareFolder(
  world: World,
  located: Found,
  { nodes, seen }: Pick<Inside, 'nodes'> & Pick<Leaving, 'seen'>,
): Promise<Prepared> {
  if (nodes.length === 0) return { ok: true, step: removeFolderStep(world, located) };
  const readOnly = nodes.find((node) => node.kind === 'file' && node.readOnly);
  if (readOnly !== undefined) return notPrepared(readOnlyRefusal(located, readOnly));
  const other = nodes.find((node) => node.kind === 'other');
  if (other !== undefined) return notPrepared(otherRefusal(located, other));
  const doomed = await doom(world, nodes);
  if ('reason' in doomed) return notPrepared(unverifiable(located.place.path.given));
  const changed = changedMember(doomed, seen);
  if (changed !== undefined) return notPrepared(changedRefusal(located, changed));
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

/** Deletes one file. Its bytes are kept as an image. */
function removeFileStep(world: World, located: Found, before: Snapshot): Step {
  const { place } = located;
  const expected = { fingerprint: before.fingerprint, bytes: before.bytes };
  return {
    action: 'delete',
    path: place.path,
    effects: [{ key: place.path.key, relative: place.path.relative, before: sideOf(before), after: ABSENT }],
    run: async () => {
      const outcome = remove(world.disk, place, expected);
      if (!outcome.ok) return outcome;
      const { sha256, size } = before.fingerprint;
      const displaced = outcome.displaced === undefined ? [] : [{ file: outcome.displaced, sha256, size }];
      return gone(place.path.given, place.path.key, displaced);
    },
    revert: async () => {
      const made = await create(world.disk, place, { bytes: before.bytes, mode: modeOf(before.stats) });
      return made.ok;
    },
    close: () => place.dir.close(),
  };
}

/** Deletes a file too large to load. The file itself becomes the image. */
function removeLargeStep(world: World, located: Found, fingerprint: Fingerprint): Step {
  const { place, stats } = located;
  const before = fileSide(fingerprint, modeOf(stats), true);
  let displaced: string | undefined;
  return {
    action: 'delete',
    path: place.path,
    effects: [{ key: place.path.key, relative: place.path.relative, before, after: ABSENT }],
    run: async () => {
      const outcome = remove(world.disk, place, { fingerprint });
      if (!outcome.ok) return outcome;
      displaced = outcome.displaced;
      const { sha256, size } = fingerprint;
      return gone(
        place.path.given,
        place.path.key,
        displaced === undefined ? [] : [{ file: displaced, sha256, size }],
      );
    },
    revert: async () => displaced === undefined || moveIfFree(displaced, at(place)),
    close: () => place.dir.close(),
  };
}

/** Deletes a link, never its target. */
function removeLinkStep(world: World, located: Found): Step {
  const { place } = located;
  const target = linkTarget(place) ?? '';
  const before = { kind: 'link', target } as const;
  return {
    action: 'delete',
    path: place.path,
    effects: [{ key: place.path.key, relative: place.path.relative, before, after: ABSENT }],
    run: async () => {
      const outcome = target === '' ? conflict('changed') : removeLink(world.disk, place, target);
      return outcome.ok ? gone(place.path.given, place.path.key, []) : outcome;
    },
    revert: async () => makeLink(world.disk, place, target).ok,
    close: () => place.dir.close(),
  };
}

function gone(path: string, key: string, displaced: Done['displaced']): Done {
  const result = { path, changed: true, created: false, sizeBytes: 0, notices: [] };
  return { ok: true, result, sightings: [], tombstones: [key], displaced };
}
