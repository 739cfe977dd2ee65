import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Content } from '../disk/content.ts';
import { BATCH_FILES } from '../disk/context.ts';
import { grantCovers } from '../journal/grants.ts';
import type { Facts } from '../judge/facts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewEntry, PendingChange } from '../model/entry.ts';
import { nothingChanged } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { BypassRule, Policy } from '../model/policy.ts';
import type { ChangeResult } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { AdoptedStats, KeptTree, TreeFile } from '../store/images.ts';
import { type AnnouncedImages, joinWrites, type Writes } from '../store/store.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import { needsApproval } from './approval.ts';
import { imagesToAnnounce } from './old-bytes.ts';
import type { ChangePlan } from './plan.ts';
import type { World } from './world.ts';

/** Returns a new change id, short enough to type after `lookfirst undo`. */
export function newChangeId(): string {
  // `randomUUID` takes its random bytes from a pool, which is a hundred times faster than `randomBytes`.
  return `c${randomUUID().replace('-', '').slice(0, 10)}`;
}

/**
 * Stores a planned change before any file is touched. If this process dies, another process can
 * complete the record. Returns false if the journal could not be written and the policy allows
 * changes without it.
 */
export async function announce(
  world: World,
  pending: PendingChange,
  entries: readonly NewEntry[] = [],
): Promise<boolean> {
  try {
    // In a fleet, the store gets the bytes that a change destroys. For a command, they are sent
    // with its result, because a command changes only few of the files that are announced.
    const images =
      world.images.placeOf === undefined || pending.foreign?.command !== undefined
        ? undefined
        : await imagesToAnnounce(world, pending.entry.effects ?? []);
    await world.store.record({
      announce: pending,
      ...(entries.length === 0 ? {} : { entries }),
      ...(images === undefined ? {} : { images }),
    });
    if (images !== undefined) world.images.announced?.(images);
    return true;
  } catch (error) {
    throw nothingChanged(error);
  }
}

/** A replaced or removed file. */
export interface Displaced extends Fingerprint {
  /** The path outside the workspace to which the file was moved. */
  readonly file: string;
  /** The file's bytes, if they are in memory. */
  readonly bytes?: Uint8Array;
  /** The file's stats after it left the workspace, if they are known. */
  readonly stats?: AdoptedStats | undefined;
  /**
   * Set if the file left the workspace together with its whole folder. An undo can then read the
   * file in the moved folder.
   */
  readonly tree?: (Pick<TreeFile, 'name' | 'stamp'> & Pick<KeptTree, 'folder'>) | undefined;
}

/** The result of a change, to be recorded. */
export interface Settlement {
  readonly change: string;
  /**
   * False if the planned change could not be stored before it was made. Then no journal entry is
   * written.
   */
  readonly announced: boolean;
  readonly entries: readonly NewEntry[];
  /**
   * Replaced and removed files, already moved out of the workspace. Their bytes are stored for an
   * undo.
   */
  readonly displaced?: readonly Displaced[];
  /** Bytes that the change has destroyed, to be stored for all machines of a fleet. */
  readonly images?: AnnouncedImages | undefined;
  /** Records of what the session has seen of the files, after the change. */
  readonly sightings: readonly Sighting[];
  /** Keys of files that the session knows to be gone. */
  readonly tombstones: readonly string[];
  /** Syncs the folders that hold the names of new files. Undefined if they are synced already. */
  readonly syncNames?: (() => Promise<void>) | undefined;
}

/**
 * Records the result of a pending change. First stores the old file contents. Then stores, in one
 * transaction, the journal entries and what the session has seen. Returns false if the change is
 * not recorded. The caller must hold the locks of the
 * change.
 */
export async function settle(world: World, ledger: Ledger, settlement: Settlement): Promise<boolean> {
  const { change, announced, entries, images, displaced = [], sightings, tombstones } = settlement;
  const sent = images === undefined ? {} : { images };
  const journal: Writes = announced ? { entries, settle: [change], ...sent } : {};
  const [keeping, syncing] = await Promise.allSettled([
    keepImages(world, displaced),
    settlement.syncNames?.(),
  ]);
  // Throw if syncing failed, even if the policy allows unrecorded changes: after a power cut the
  // file could have its old bytes.
  if (syncing.status === 'rejected') throw syncing.reason;
  if (keeping.status === 'rejected') throw keeping.reason;
  const kept = keeping.value;
  const gone =
    tombstones.length === 0
      ? journal
      : joinWrites(journal, await ledger.tombstoneWrites(tombstones, world.now()));
  await ledger.record(sightings, gone);
  world.images.makePrivate(kept);
  return announced;
}

/**
 * Journal entries for the plans that only a bypass rule of the operator allowed, one for each.
 * Session and time come from `like`.
 */
export function bypassEntries(
  allowed: readonly (Pick<ChangePlan, 'action' | 'path'> & Pick<ChangeResult, 'notices'>)[],
  like: Pick<NewEntry, 'session' | 'turn' | 'atMs' | 'change'>,
): readonly NewEntry[] {
  return allowed.flatMap(({ action, path, notices }) => {
    const used = notices.find((notice) => notice.kind === 'bypassed');
    if (used === undefined) return [];
    const { root, relative, key } = path;
    const text = `allowed without a read, by the user's rule for ${used.glob}`;
    const grant = used.grant === undefined ? {} : { grant: { id: used.grant } };
    return [{ ...like, kind: 'bypass', action, root, path: relative, key, text, ...grant }];
  });
}

/**
 * Stores the replaced and removed files of a change, for an undo. They are already outside the
 * workspace, so this only renames them. A large removed folder is kept as it is, and its files are
 * not renamed.
 */
export async function keepImages(
  world: World,
  displaced: readonly Displaced[],
): Promise<Parameters<World['images']['makePrivate']>[0]> {
  const staying = await keepTrees(world, displaced);
  return adoptEach(world, staying.size === 0 ? displaced : displaced.filter((each) => !staying.has(each)));
}

/**
 * A removed folder with at least this many files is kept whole. Files of smaller folders are stored
 * one by one.
 */
const TREE_FILES = 100;

/**
 * Keeps each large removed folder whole, so that an undo can read its files from there. Returns the
 * files of all folders that were kept whole.
 */
async function keepTrees(world: World, displaced: readonly Displaced[]): Promise<ReadonlySet<Displaced>> {
  const { images, disk } = world;
  const staying = new Set<Displaced>();
  if (images.keepTree === undefined || displaced.length < TREE_FILES) return staying;
  const trees = new Map<string, Displaced[]>();
  for (const each of displaced) {
    if (each.tree === undefined) continue;
    const { folder } = each.tree;
    trees.set(folder, trees.get(folder) ?? []);
    trees.get(folder)?.push(each);
  }
  for (const [folder, members] of trees) {
    if (members.length < TREE_FILES) continue;
    // Under full durability, sync the file system before `keepTree` lists the files. A batch needs
    // no sync here: after its last step, it has already synced everything.
    const isSynced = world.policy.durability !== 'full' || disk.batch !== undefined;
    if (!isSynced && !(await isFileSystemSynced(world))) continue;
    await images.keepTree({ folder, files: members.flatMap(treeFileOf) });
    for (const each of members) {
      staying.add(each);
      world.baselines.kept(each.sha256);
    }
  }
  return staying;
}

function treeFileOf({ tree, sha256, size }: Displaced): TreeFile[] {
  return tree === undefined ? [] : [{ name: tree.name, stamp: tree.stamp, fingerprint: { sha256, size } }];
}

async function adoptEach(world: World, displaced: readonly Displaced[]): ReturnType<typeof keepImages> {
  const images: { readonly sha256: string; readonly mode: bigint | undefined }[] = [];
  for (const { file, sha256, size, bytes, stats } of displaced) {
    const kept = await world.images.adopt(file, { sha256, size }, { durability: 'none', bytes, stats });
    world.baselines.kept(sha256);
    images.push({ sha256, mode: kept === 'linked' ? stats?.mode : undefined });
  }
  if (world.policy.durability === 'full') await syncAdopted(world, displaced);
  return images;
}

/**
 * Makes old file contents durable that were just stored. Syncs many files by one sync of the whole
 * file system, if this machine can do that and no other machine shares the store.
 */
async function syncAdopted(world: World, displaced: readonly Displaced[]): Promise<void> {
  const isWhole = displaced.length >= BATCH_FILES && world.images.placeOf === undefined;
  if (!isWhole || !(await isFileSystemSynced(world))) await syncImages(world, displaced);
}

/**
 * The stored bytes with this fingerprint, for a file to be written. Bytes too large to load come in
 * chunks.
 */
export async function keptContent({ images }: World, fingerprint: Fingerprint): Promise<Content> {
  if (fingerprint.size > LIMITS.maxEditBytes)
    return { fingerprint, chunks: () => images.chunks(fingerprint) };
  return { fingerprint, bytes: await images.read(fingerprint) };
}

/**
 * Makes stored file contents durable. Syncs many files by one sync of the whole file system, if
 * this machine can do that and no other machine shares the store.
 */
export async function syncImages(world: World, kept: readonly Pick<Fingerprint, 'sha256'>[]): Promise<void> {
  const { images } = world;
  const whole = { from: BATCH_FILES, sync: () => isFileSystemSynced(world) };
  const hashes = kept.map(({ sha256 }) => sha256);
  return images.sync(hashes, images.placeOf === undefined ? whole : undefined);
}

/** Syncs the file system of the state folder. False if this machine cannot do that. */
async function isFileSystemSynced({ disk }: World): Promise<boolean> {
  if (!(await disk.sync.works(disk.retained))) return false;
  await disk.sync.sync([disk.retained]);
  return true;
}

/** The file and the session for which a bypass rule is searched. */
interface BypassSubject {
  readonly relative: string;
  readonly session: string;
}

const NO_BYPASS = { bypassedBy: undefined } as const;

/** A grant for a path that needs approval is only that approval: the session must still read the file. */
export function bypassFacts(
  world: World,
  { key, relative }: { readonly key: string; readonly relative: string },
  session: string,
): Pick<Facts, 'bypassedBy' | 'grant'> {
  const { policy, granted } = world;
  if (policy.bypass.length === 0 && granted === undefined) return NO_BYPASS;
  const grant = needsApproval(world, relative) ? undefined : granted?.find((each) => grantCovers(each, key));
  if (grant !== undefined) return { bypassedBy: `${relative} (${grant.id})`, grant: grant.id };
  return { bypassedBy: bypassFor(policy.bypass, { relative, session }) };
}

/**
 * The text of the operator's bypass rule that lets a session change a file it has not read, or undefined if there is
 * none.
 */
function bypassFor(rules: Policy['bypass'], subject: BypassSubject): string | undefined {
  for (const rule of rules) {
    const found = typeof rule === 'string' ? matchingGlob([rule], subject.relative) : wordsFor(rule, subject);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The text of a rule, or undefined if the rule does not match. Every part given in the rule must
 * match; an omitted part matches everything.
 */
function wordsFor({ paths, tools, sessions }: BypassRule, subject: BypassSubject): string | undefined {
  const tool = tools === undefined ? undefined : callingTool();
  const path = paths && matchingGlob(paths, subject.relative);
  const byTool = tools && tool !== undefined ? matchingGlob(tools, tool) : undefined;
  const session =
    sessions?.find((each) => each === subject.session) ?? matchingGlob(sessions ?? [], subject.session);
  const isMissing =
    (paths && path === undefined) || (tools && byTool === undefined) || (sessions && session === undefined);
  if (isMissing) return undefined;
  return [path, byTool && `the tool ${byTool}`, session && `the session ${session}`]
    .filter(Boolean)
    .join(', ');
}

const calling = new AsyncLocalStorage<string>();

/**
 * Runs a call and passes its tool's name to the bypass rules. If no rule names tools, the name is
 * not passed on: an `AsyncLocalStorage` makes changes 10 % slower.
 */
export function runAsTool<T>({ bypass }: Pick<Policy, 'bypass'>, tool: string, call: () => T): T {
  const isAsked = bypass.some((rule) => typeof rule !== 'string' && rule.tools !== undefined);
  return isAsked ? calling.run(tool, call) : call();
}

/** The tool whose call is running. Undefined for library calls and for adapters that name no tool. */
function callingTool(): string | undefined {
  return calling.getStore();
}
