import { dropFromShelf, leftoversOnShelf, purgeShelf } from '../disk/shelf.ts';
import { clearOldShelf, type LateWrite, noteLateWrites } from '../gate/late-writes.ts';
import type { World } from '../gate/world.ts';
import { collectGarbage, planGc, purgeImages, storedUsage } from '../journal/gc.ts';
import { LIMITS } from '../model/limits.ts';
import type { Policy } from '../model/policy.ts';
import type { ExpiredWork } from '../process/processes.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Images, ImageUsage } from '../store/images.ts';
import { type EntryFilter, type Store, walkEntries } from '../store/store.ts';
import { canonicalPath } from './scope.ts';

interface CleanUpRequest {
  /** Overrides the policy's `journal.retentionMs`. */
  readonly retentionMs?: number | undefined;
  readonly quotaBytes?: number | undefined;
  readonly dryRun: boolean;
  readonly nowMs: number;
}

/** The result of a clean-up, or of its dry run. */
interface CleanUpReport {
  readonly dryRun: boolean;
  readonly removed: {
    readonly entries: number;
    readonly sessions: number;
    readonly images: ImageUsage;
    /** Files outside the workspace that no undo needs: late writes, and what two writers at once left. */
    readonly leftovers: ImageUsage;
    /** Expired files of commands: stored writes of refused commands, and stored long outputs. */
    readonly commands: ExpiredWork;
  };
  /** Late writes found by this run: other programs wrote into the old files after a change replaced them. */
  readonly late: readonly LateWrite[];
  /**
   * Present if no journal entry was removed: machines share this store, and only the store's owner
   * may remove entries.
   */
  readonly entriesKept?: true;
  readonly before: StateSize;
  readonly after?: StateSize;
}

/**
 * Removes data that is older than the retention or exceeds the quota, for every workspace that
 * shares the store.
 */
export async function cleanUp({ world }: Sessions, request: CleanUpRequest): Promise<CleanUpReport> {
  const { dryRun, nowMs } = request;
  const limits = limitsOf(world.policy, request);
  const before = await stateSize(world);
  const kept = (await world.store.state()).mayPrune === false ? ({ entriesKept: true } as const) : {};
  // Search for late writes first: the entries that name the replaced files may be removed below.
  const late = dryRun ? [] : await noteLateWrites(world, {});
  const plan = await planGc(world, limits, nowMs);
  const { retentionMs } = limits;
  const leftovers = retentionMs === 0 ? [] : leftoversOnShelf(world.disk, nowMs - retentionMs);
  const usage = usageOf(leftovers);
  const commands = world.processes.expire({ nowMs, dryRun });
  if (dryRun) {
    const { sessions, frees } = plan;
    const entries = 'entriesKept' in kept ? 0 : await countEntries(world, plan);
    const removed = { entries, sessions: sessions.length, images: frees, leftovers: usage, commands };
    return { dryRun, removed, late, before, ...kept };
  }
  const collected = await collectGarbage(world, plan);
  const { entries, sessions, images } = collected;
  for (const leftover of leftovers) dropFromShelf(leftover);
  await clearOldShelf(world, nowMs);
  world.images.removeRead?.(nowMs - DAY_MS);
  const removed = { entries, sessions, images, leftovers: usage, commands };
  return {
    dryRun,
    removed,
    late,
    before,
    after: await stateSize(world),
    ...kept,
  };
}

/** The number of entries that a clean-up would remove. */
async function countEntries({ store }: World, plan: Awaited<ReturnType<typeof planGc>>): Promise<number> {
  // Without `snapshot`, the numbers of the entries have no gaps, so the plan's count is exact.
  return store.snapshot === undefined
    ? plan.entries
    : countMatching(store, { beforeSeq: plan.throughSeq + 1 });
}

async function countMatching(store: Store, filter: EntryFilter): Promise<number> {
  let count = 0;
  for await (const _ of walkEntries(store, filter)) count += 1;
  return count;
}

function limitsOf({ journal }: Policy, request: CleanUpRequest): Parameters<typeof planGc>[1] {
  return {
    retentionMs: request.retentionMs ?? journal.retentionMs,
    quotaBytes: request.quotaBytes ?? journal.quotaBytes,
    sessionIdleMs: LIMITS.sessionIdleMs,
  };
}

function usageOf(files: readonly ReturnType<typeof leftoversOnShelf>[number][]): ImageUsage {
  return { count: files.length, bytes: files.reduce((sum, file) => sum + file.size, 0) };
}

const DAY_MS = 24 * 3_600_000;

/** The result of a purge, or of its dry run. */
interface PurgeReport {
  readonly path: string;
  readonly images: ImageUsage;
}

/**
 * Removes all stored earlier contents of the given files or folders, and records that in the
 * journal. Without paths, does so for all secret files.
 */
export async function purge(
  { world }: Sessions,
  request: { readonly cwd: string; readonly paths: readonly string[]; readonly dryRun: boolean },
): Promise<readonly PurgeReport[]> {
  const reports: PurgeReport[] = [];
  const { dryRun } = request;
  if (request.paths.length === 0) {
    const images = await purgeOne(world, { key: undefined, dryRun });
    return [{ path: 'secret files', images }];
  }
  for (const path of request.paths) {
    const { key } = canonicalPath(request.cwd, path);
    const images = await purgeOne(world, { key, dryRun });
    reports.push({ path: key, images });
  }
  return reports;
}

/** Also removes displaced files that hold purged bytes. */
function purgeOne(
  world: World,
  { key, dryRun }: { readonly key: string | undefined; readonly dryRun: boolean },
): Promise<ImageUsage> {
  const onPurge = (hashes: ReadonlySet<string>): void => purgeShelf(world.disk, hashes);
  return purgeImages(world, { key, nowMs: world.now(), dryRun, onPurge });
}

/** The size of the state on disk. */
interface StateSize {
  readonly entries: number;
  readonly storeBytes: number;
  readonly images: ImageUsage;
}

export async function stateSize(state: {
  readonly store: Store;
  readonly images: Images;
}): Promise<StateSize> {
  const [stored, images] = await Promise.all([state.store.state(), storedUsage(state.images)]);
  // Count each hash chain by itself. Numbers have no gaps within a chain, but in the whole journal
  // they have gaps if several processes append.
  const chains = stored.chains ?? [stored];
  const entries = chains.reduce((sum, { head, checkpoint }) => sum + head.seq - checkpoint.seq, 0);
  return { entries, storeBytes: stored.bytes, images };
}
