import { basename, dirname } from 'node:path';
import { byName, linkTarget, listNames } from '../disk/list.ts';
import { modeOf, stampOf } from '../disk/read.ts';
import type { Facts, FolderFacts } from '../judge/facts.ts';
import { judge } from '../judge/judge.ts';
import { ABSENT, byPath, type State } from '../model/delta.ts';
import type { ChangeEntry } from '../model/entry.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import { decodeText } from '../text/decode.ts';
import { toLf } from '../text/lines.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Found } from '../workspace/workspace.ts';
import { fileAt, fileState, sideOf, type UnknownFile, unknownFile } from './found.ts';
import { heldInside, heldRefusal } from './held.ts';
import { type LookedFile, look } from './look.ts';
import { type ChangePlan, type PlannedDelta, told } from './plan.ts';
import {
  notPrepared,
  type Prepared,
  unreadableLink,
  unverifiable,
  withCure,
  withEvidence,
} from './prepared.ts';
import { type FolderNode, listingFingerprint, readTree, removalsOf, type TreeNode } from './tree.ts';
import type { World } from './world.ts';

type DeleteIntent = Extract<FileIntent, { kind: 'delete' }>;

/** Judges a delete of a file, of a link itself, or of a folder that this session was shown in full. */
export function prepareDelete(world: World, knowledge: Knowledge, intent: DeleteIntent): Promise<Prepared> {
  const request = { path: intent.path, action: 'delete', links: 'parents', depth: 'bytes' } as const;
  return look(world, knowledge, request, async (view) =>
    withEvidence(await judged(world, knowledge, { intent, view }), view, intent),
  );
}

async function judged(
  world: World,
  knowledge: Knowledge,
  { intent, view }: { intent: DeleteIntent; view: LookedFile },
): Promise<Prepared> {
  const { located, snapshot } = view;
  const isFolder = located.exists && located.stats.isDirectory();
  if (intent.only === 'file' && isFolder) return notPrepared(notAFile(intent));
  const folder = isFolder ? await lookInside(world, knowledge, { intent, located }) : undefined;
  if (folder?.held !== undefined) return notPrepared(heldRefusal('delete', located.place.path, folder.held));
  const large = await largeFile(world, view);
  if (large !== undefined && 'problem' in large)
    return notPrepared(unknownFile({ action: 'delete', path: intent.path }, large));
  const verdict = judge(
    { ...view.facts, ...large?.facts, ...(folder === undefined ? {} : { folder: folder.facts }) },
    world.policy,
  );
  if (verdict.outcome === 'refuse') return withCure(world, view, verdict.refusal);
  if (!located.exists)
    return notPrepared({ code: 'NOT_FOUND', action: 'delete', path: intent.path, next: 'other_path' });
  const seen = await seenFiles(world, knowledge, verdict.licence === 'seen' ? folder : undefined);
  const prepared = await prepareGoing(world, {
    located,
    snapshot,
    folder,
    errno: view.facts.errno,
    seen,
    large: large?.fingerprint,
    intent,
  });
  return prepared.ok ? { ok: true, plan: told(prepared.plan, verdict.notices) } : prepared;
}

function notAFile({ path }: DeleteIntent): Refusal {
  return { code: 'NOT_A_FILE', action: 'delete', path, next: 'other_path', detail: { kind: 'directory' } };
}

/** True if the file holds another text than the one that a patch lists as removed. */
function holdsOther(bytes: Uint8Array, content: string | undefined): boolean {
  if (content === undefined) return false;
  const text = decodeText(bytes)?.text;
  return text === undefined || endedLf(text) !== endedLf(content);
}

/** The text with `\n` after each line, also after the last one. */
function endedLf(text: string): string {
  const lf = toLf(text);
  return lf === '' || lf.endsWith('\n') ? lf : `${lf}\n`;
}

function otherText({ path }: DeleteIntent): Refusal {
  return { code: 'NO_MATCH', action: 'delete', path, next: 'read' };
}

interface LargeFile {
  readonly fingerprint: Fingerprint;
  readonly facts: Pick<Facts, 'freshness'>;
}

/**
 * Hashes a file that is too large to load, and compares it with what the session saw. Undefined for
 * small, protected or unseen files.
 */
async function largeFile(
  world: World,
  { located, snapshot, sighting, facts }: LookedFile,
): Promise<LargeFile | UnknownFile | undefined> {
  const { seen } = world.policy;
  const { maxEditBytes } = LIMITS;
  if (snapshot !== undefined || !located.exists || !located.stats.isFile()) return undefined;
  if (Number(located.stats.size) <= maxEditBytes || facts.protectedBy !== undefined) return undefined;
  if (sighting === undefined && facts.bypassedBy === undefined && seen !== 'optional') return undefined;
  const found = await fileAt(world, located.place, { maxBytes: maxEditBytes });
  if ('problem' in found) return found;
  if (found.side.kind !== 'file') return { problem: 'changing' };
  const { fingerprint } = found.side;
  return { fingerprint, facts: { freshness: freshnessOf(sighting, fingerprint, located) } };
}

function freshnessOf(
  sighting: Sighting | undefined,
  fingerprint: Fingerprint,
  { stats }: Found,
): Facts['freshness'] {
  if (sighting?.fingerprint !== undefined)
    return sameFingerprint(fingerprint, sighting.fingerprint) ? 'same' : 'changed';
  // A session that saw only pages of a huge file has no hash of it. Compare the stamps instead.
  if (sighting?.stamp === undefined) return undefined;
  return sameStamp(sighting.stamp, stampOf(stats)) ? 'same' : 'changed';
}

interface DeleteTarget extends Pick<LookedFile, 'snapshot'> {
  readonly intent: DeleteIntent;
  /** The fingerprint of a file too large to load. */
  readonly large: Fingerprint | undefined;
  readonly located: Found;
  readonly folder: Inside | undefined;
  readonly errno: string | undefined;
  /**
   * The lines that the session has seen of the files in a folder, by key. Empty unless the policy
   * requires the files to be unchanged.
   */
  readonly seen: ReadonlyMap<string, Sighting>;
}

async function prepareGoing(world: World, leaving: DeleteTarget): Promise<Prepared> {
  const { intent, located, snapshot, folder, errno, seen, large } = leaving;
  const { given } = located.place.path;
  if (located.stats.isSymbolicLink()) {
    const target = linkTarget(located.place);
    if (target === undefined) return notPrepared(unreadableLink('delete', given));
    return { ok: true, plan: removal(located, { kind: 'link', target }) };
  }
  if (folder !== undefined) return prepareFolder(world, located, { ...folder, seen });
  if (large !== undefined) {
    const refusal = notKeepable(world, located, large);
    if (refusal !== undefined) return notPrepared(refusal);
    return { ok: true, plan: removal(located, fileState(large, modeOf(located.stats), 'kept')) };
  }
  if (snapshot === undefined) return notPrepared(unverifiable('delete', given, errno));
  if (holdsOther(snapshot.bytes, intent.content)) return notPrepared(otherText(intent));
  return { ok: true, plan: removal(located, sideOf(snapshot), { was: snapshot }) };
}

/** The refusal of a delete that could not be undone, because the store cannot keep so large a file. */
function notKeepable({ images }: World, { place }: Found, { size }: Fingerprint): Refusal | undefined {
  const { maxBytes = Infinity } = images;
  if (size <= maxBytes) return undefined;
  const reason = 'an undo could not restore it: a store in memory keeps only files under 1 GB';
  const detail = { sizeBytes: size, limitBytes: maxBytes, reason };
  return { code: 'TOO_LARGE', action: 'delete', path: place.path.given, next: 'ask_human', detail };
}

interface Inside {
  readonly facts: FolderFacts;
  readonly nodes: readonly TreeNode[];
  /**
   * An entry that prevents the delete, such as a protected path. It is reported before any missing
   * listing, because folder listings do not show protected paths.
   */
  readonly held?: ResolvedPath | undefined;
}

async function lookInside(
  world: World,
  knowledge: Knowledge,
  { intent, located }: { intent: DeleteIntent; located: Found },
): Promise<Inside> {
  const dir = located.place.name === '.' ? located.place.dir : located.place.dir.enter(located.place.name);
  try {
    const recursive = intent.recursive === true;
    const empty = listNames(dir).length === 0;
    if (empty || !recursive) return { facts: { empty, recursive }, nodes: [] };
    const { path } = located.place;
    const held = await heldInside(world, dir, { path, asking: knowledge });
    const nodes = readTree(world, dir, path);
    const folders = nodes.filter((node) => node.kind === 'folder');
    const listings = await knowledge.recallMany(folders.map(({ path }) => path.key));
    const facts = { empty, recursive, ...(await listingFacts(world, knowledge, { folders, listings })) };
    return { facts, nodes, held };
  } finally {
    if (dir !== located.place.dir) dir.close();
  }
}

/**
 * Checks the listings of all folders in the tree. `listedFull`: the session listed every folder in
 * full. `listingUnchanged`: the folders differ from these listings only by the session's own
 * changes.
 */
async function listingFacts(
  world: World,
  knowledge: Knowledge,
  {
    folders,
    listings,
  }: { readonly folders: readonly FolderNode[]; readonly listings: ReadonlyMap<string, Sighting> },
): Promise<Pick<FolderFacts, 'listedFull' | 'listingUnchanged'>> {
  const seen = folders.map((folder) => ({ folder, sighting: listings.get(folder.path.key) }));
  const listedFull = seen.every(
    ({ sighting }) => sighting?.how === 'listing' && sighting.coverage.kind === 'whole',
  );
  const changed = seen.flatMap(({ folder, sighting }) =>
    sighting === undefined || sighting.fingerprint?.sha256 === folder.listing.sha256
      ? []
      : [{ folder, sighting }],
  );
  if (!listedFull || changed.length === 0) return { listedFull, listingUnchanged: changed.length === 0 };
  const sinceMs = Math.min(...changed.map(({ sighting }) => sighting.atMs));
  const { session } = knowledge;
  const entries = await world.store.entries({ session, kinds: ['change'], sinceMs, limit: MAX_OWN_CHANGES });
  const own = entries.filter(isOwnCall);
  return { listedFull, listingUnchanged: changed.every((each) => differsByOwnChanges(each, own)) };
}

/**
 * A folder may differ from the session's listing of it by the session's own later changes. At most
 * this many changes are checked. After more, the session must list the folder again.
 */
const MAX_OWN_CHANGES = 1000;

/**
 * True for a change whose call named its files. False for a command, because the session does not
 * know all files that a command changes.
 */
function isOwnCall({ action, text, recovered }: ChangeEntry): boolean {
  return action !== 'run' && text === undefined && recovered !== true;
}

/**
 * True if the session's own changes alone explain how the folder differs from its listing. Reverts
 * these changes in memory, newest first, until the names equal the listed ones. False if another
 * program has changed one of these names after the session did.
 */
function differsByOwnChanges(
  { folder, sighting }: { readonly folder: FolderNode; readonly sighting: Sighting },
  own: readonly ChangeEntry[],
): boolean {
  const kinds = new Map(folder.entries.map(({ name, kind }) => [name, kind]));
  for (const { atMs, deltas } of own) {
    if (atMs < sighting.atMs) return false;
    const inside = byPath(deltas).filter(({ key }) => dirname(key) === folder.path.key);
    for (const { relative, before, after } of inside.toReversed()) {
      const name = basename(relative);
      if ((kinds.get(name) ?? 'absent') !== after.kind) return false;
      if (before.kind === 'absent') kinds.delete(name);
      else kinds.set(name, before.kind);
    }
    if (inside.length === 0) continue;
    const entries = [...kinds].map(([name, kind]) => ({ name, kind })).sort(byName);
    if (listingFingerprint(entries).sha256 === sighting.fingerprint?.sha256) return true;
  }
  return false;
}

const NOTHING_SEEN: ReadonlyMap<string, Sighting> = new Map();

async function seenFiles(
  { policy }: World,
  knowledge: Knowledge,
  folder: Inside | undefined,
): Promise<ReadonlyMap<string, Sighting>> {
  if (folder === undefined || policy.staleness === 'off' || policy.staleness === 'warn') return NOTHING_SEEN;
  const files = folder.nodes.filter((node) => node.kind === 'file');
  return knowledge.recallMany(files.map(({ path }) => path.key));
}

/**
 * The first file that has changed since the session saw it. Skips files that the session has not
 * seen, or that it has deleted.
 */
function changedMember(
  removals: readonly PlannedDelta[],
  seen: ReadonlyMap<string, Sighting>,
): PlannedDelta | undefined {
  return removals.find(({ key, before, stamp }) => {
    const sighting = seen.get(key);
    if (before.kind !== 'file' || sighting === undefined || sighting.tombstone === true) return false;
    if (sighting.fingerprint !== undefined) return !sameFingerprint(sighting.fingerprint, before.fingerprint);
    // A session that saw only pages of a huge file has no hash of it. Compare the stamps instead.
    return sighting.stamp !== undefined && stamp !== undefined && !sameStamp(sighting.stamp, stamp);
  });
}

function changedRefusal(located: Found, { path }: PlannedDelta): Refusal {
  const reason = `it changed since it was read, and would be deleted with ${located.place.path.given}`;
  return { code: 'STALE', action: 'delete', path: path.given, next: 'read_again', detail: { reason } };
}

async function prepareFolder(
  world: World,
  located: Found,
  { nodes, seen }: Pick<Inside, 'nodes'> & Pick<DeleteTarget, 'seen'>,
): Promise<Prepared> {
  const plan = removal(located, { kind: 'directory', mode: Number(located.stats.mode & 0o777n) });
  if (nodes.length === 0) return { ok: true, plan };
  const readOnly = nodes.find((node) => node.kind === 'file' && node.readOnly);
  if (readOnly !== undefined) return notPrepared(readOnlyRefusal(located, readOnly));
  const other = nodes.find((node) => node.kind === 'other');
  if (other !== undefined) return notPrepared(otherRefusal(located, other));
  const deltas = await removalsOf(world, nodes);
  if ('reason' in deltas) return notPrepared(unverifiable('delete', located.place.path.given));
  const changed = changedMember(deltas, seen);
  if (changed !== undefined) return notPrepared(changedRefusal(located, changed));
  const tombstones = deltas.map(({ key }) => key);
  return { ok: true, plan: { ...plan, deltas, tombstones } };
}

function readOnlyRefusal(located: Found, node: TreeNode): Refusal {
  const path = located.place.path.given;
  const detail = {
    kind: 'directory',
    reason: `it contains ${node.path.relative}, which is read-only`,
  } as const;
  return { code: 'READ_ONLY', action: 'delete', path, next: 'ask_human', detail };
}

function otherRefusal(located: Found, node: TreeNode): Refusal {
  const path = located.place.path.given;
  const detail = { reason: `it contains ${node.path.relative}, which may not be deleted` };
  return { code: 'NOT_A_FILE', action: 'delete', path, next: 'ask_human', detail };
}

/** Deletes one path. The session then knows that it is gone. */
function removal({ place }: Found, before: State, more: Partial<PlannedDelta> = {}): ChangePlan {
  const { path } = place;
  const { key, relative } = path;
  return {
    action: 'delete',
    path,
    deltas: [{ key, relative, path, before, after: ABSENT, ...more }],
    result: { path: path.given, changed: true, created: false, sizeBytes: 0, notices: [] },
    sightings: [],
    tombstones: [key],
  };
}
