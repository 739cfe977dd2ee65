import type { Delta } from '../model/delta.ts';
import { byPath } from '../model/delta.ts';
import type { NewChangeEntry, PendingChange } from '../model/entry.ts';
import { isWithin } from '../model/path.ts';
import type { SessionRecord } from '../model/session-record.ts';
import { countOf } from '../report/amounts.ts';
import { plainKey } from '../store/entry-columns.ts';
import type { Images, ImageUsage, KeptImage } from '../store/images.ts';
import { type EntryFilter, inSteps, type Store, walkEntries } from '../store/store.ts';
import { isSecretPath } from '../text/secrets.ts';

interface GcResult {
  readonly entries: number;
  readonly sessions: number;
  readonly images: ImageUsage;
}

const ENTRIES_STEP = 10_000;
const IMAGES_STEP = 500;

/**
 * Carries out a clean-up plan. First removes entries, then stored file contents ("images"), then
 * sessions. In this order, an interruption leaves no entry without its contents.
 */
export async function collectGarbage({ store, images }: GcStores, plan: GcPlan): Promise<GcResult> {
  let entries = 0;
  const first = plan.throughSeq - plan.entries;
  // Even if no entry goes, a step removes views that later ones have replaced.
  for (let done = 0; plan.mayPrune; ) {
    done = Math.min(done + ENTRIES_STEP, plan.entries);
    entries += await store.prune(first + done);
    if (done >= plan.entries) break;
  }

  const needed = async (): Promise<ReadonlySet<string>> => {
    // Query pending changes before the entries. In the other order, a change that ends between the
    // two queries would be missed.
    const pending = imagesOfPending(await store.pending());
    const needed = new Set(pending);
    for await (const { sha256 } of usesIn(store, { afterSeq: plan.headSeq })) needed.add(sha256);
    return needed;
  };
  // Sort the hashes. Contents whose hashes begin alike are in one folder, so each call of `remove`
  // then uses few folders.
  const hashes = [...plan.images].sort();
  let removed: ImageUsage = { count: 0, bytes: 0 };
  for (let done = 0; done < hashes.length; done += IMAGES_STEP) {
    const step = await images.remove(hashes.slice(done, done + IMAGES_STEP), needed);
    removed = { count: removed.count + step.count, bytes: removed.bytes + step.bytes };
  }

  for (const dropSession of plan.sessions) await store.record({ dropSession });
  return { entries, sessions: plan.sessions.length, images: removed };
}

interface GcLimits {
  /** Entries older than this are removed, with contents that only they need; 0 = keep all. */
  readonly retentionMs: number;
  /**
   * Limit for stored file contents. Beyond it the oldest changes are removed with their contents,
   * but never the newest change; 0 = no limit.
   */
  readonly quotaBytes: number;
  /** Unnamed sessions idle for this long are removed; 0 = never. */
  readonly sessionIdleMs: number;
}

/** The entries, stored file contents and sessions that a clean-up will remove. */
interface GcPlan {
  /** The clean-up removes entries up to and including this number. */
  readonly throughSeq: number;
  readonly entries: number;
  /** Hashes of stored file contents. */
  readonly images: readonly string[];
  readonly sessions: readonly string[];
  /** Disk usage of the file contents to remove (`frees`) and of those to keep (`leaves`). */
  readonly frees: ImageUsage;
  readonly leaves: ImageUsage;
  /** False if the database user has no right to remove entries. */
  readonly mayPrune: boolean;
  /** The newest entry at planning time. File contents that later entries need are not removed. */
  readonly headSeq: number;
}

interface GcStores {
  readonly store: Store;
  readonly images: Images;
}

/** Contents that no change needs stay for a day: they may show what changed in a file that was read. */
const GRACE_MS = 24 * 3_600_000;

/**
 * Plans what can be removed, and removes nothing. Never includes file contents that remaining
 * entries or pending changes need.
 */
export async function planGc({ store, images }: GcStores, limits: GcLimits, nowMs: number): Promise<GcPlan> {
  const { head, checkpoint, mayPrune } = await store.state();
  // Query pending changes before the entries. A change that ends between the two queries is then at
  // least among the pending ones.
  const pending = imagesOfPending(await store.pending());
  const uses = await lastUses(store, pending);
  const sorted = await sortImages(images, { uses, nowMs });
  // If the database user has no right to remove entries, no entries expire.
  const { retentionMs, quotaBytes } = mayPrune === false ? { retentionMs: 0, quotaBytes: 0 } : limits;
  const expired = retentionMs === 0 ? 0 : await lastBefore(store, nowMs - retentionMs, head.seq);
  const room = quotaBytes === 0 ? Infinity : quotaBytes;
  const throughSeq = Math.max(checkpoint.seq, expired, cutForQuota(sorted, { expired, room, uses }));

  const kept = sorted.used.filter(({ last }) => last > throughSeq);
  const going = [...sorted.loose, ...sorted.used.filter(({ last }) => last <= throughSeq)];
  return {
    throughSeq,
    entries: throughSeq - checkpoint.seq,
    images: going.map(({ sha256 }) => sha256),
    sessions: await idleUnnamed(store, limits, nowMs),
    frees: usageOf(going),
    leaves: {
      count: kept.length + sorted.fresh.length,
      bytes: sizeOf(kept) + sizeOf(sorted.fresh),
    },
    headSeq: head.seq,
    mayPrune: mayPrune !== false,
  };
}

/** For each stored content that a change needs, the number of the newest entry that needs it. */
type LastUses = ReadonlyMap<string, number>;

interface SortedImages {
  /**
   * Contents that a change needs: `last` is the number of the newest entry that needs them. Sorted
   * by `last`, oldest first.
   */
  readonly used: readonly (KeptImage & { readonly last: number })[];
  /** Contents that no change needs, but that are too recent to remove. */
  readonly fresh: readonly KeptImage[];
  readonly loose: readonly KeptImage[];
}

async function sortImages(
  images: Images,
  { uses, nowMs }: { uses: LastUses; nowMs: number },
): Promise<SortedImages> {
  const used: (KeptImage & { readonly last: number })[] = [];
  const [fresh, loose]: [KeptImage[], KeptImage[]] = [[], []];
  for await (const image of images.list()) {
    const last = uses.get(image.sha256);
    if (last !== undefined) used.push({ ...image, last });
    else if (image.sinceMs > nowMs - GRACE_MS) fresh.push(image);
    else loose.push(image);
  }
  used.sort((a, b) => (a.last === b.last ? 0 : a.last - b.last));
  return { used, fresh, loose };
}

/**
 * Finds the first entry whose time is `ms` or later, and returns the number before it; `headSeq` if
 * there is none. All later entries stay, even if the clock was set back and their times are older.
 */
async function lastBefore(store: Store, ms: number, headSeq: number): Promise<number> {
  const [first] = await store.entries({ sinceMs: ms, order: 'oldest', limit: 1 });
  return first === undefined ? headSeq : first.seq - 1;
}

/**
 * The number of the last entry to remove, so that the contents that later changes need fit into
 * `room` bytes; 0 if they fit already. The newest change stays, even if its contents do not fit.
 */
function cutForQuota(
  { used, fresh }: SortedImages,
  { expired, room, uses }: { expired: number; room: number; uses: LastUses },
): number {
  const staying = used.filter(({ last }) => last > expired);
  let left = sizeOf(staying) + sizeOf(fresh);
  let [cut, newest] = [0, 0];
  for (const last of uses.values()) if (last > newest && last !== Infinity) newest = last;
  for (const { last, bytes } of staying) {
    if (left <= room || last >= newest) break;
    left -= bytes;
    cut = last;
  }
  return cut;
}

async function idleUnnamed(store: Store, limits: GcLimits, nowMs: number): Promise<string[]> {
  if (limits.sessionIdleMs === 0) return [];
  const idle = await idleSessions(store, nowMs - limits.sessionIdleMs);
  return idle.filter((session) => !session.named).map((session) => session.id);
}

function sizeOf(images: readonly { readonly bytes: number }[]): number {
  return images.reduce((sum, image) => sum + image.bytes, 0);
}

function usageOf(images: readonly KeptImage[]): ImageUsage {
  return { count: images.length, bytes: sizeOf(images) };
}

/** The hashes of the stored file contents that an undo or redo of the entry needs. */
function imagesOf(entry: NewChangeEntry): string[] {
  const sides = byPath(entry.deltas).flatMap(({ before, after }) => [before, after]);
  return sides.flatMap((side) => (side.kind === 'file' && side.kept ? [side.fingerprint.sha256] : []));
}

/** The hashes of the file contents that the matching changes need, oldest change first. */
async function* usesIn(
  store: Store,
  filter: EntryFilter,
): AsyncGenerator<{ readonly sha256: string; readonly seq: number }> {
  for await (const entry of walkEntries(store, { ...filter, kinds: ['change'], order: 'oldest' }))
    for (const sha256 of imagesOf(entry)) yield { sha256, seq: entry.seq };
}

/**
 * For each stored content, the number of the newest entry that needs it; Infinity if a pending
 * change needs it.
 */
async function lastUses(store: Store, pending: ReadonlySet<string>): Promise<LastUses> {
  const uses = new Map<string, number>();
  // The oldest change comes first, so the newest one stays.
  for await (const { sha256, seq } of usesIn(store, {})) uses.set(sha256, seq);
  for (const sha256 of pending) uses.set(sha256, Infinity);
  return uses;
}

/** The hashes of the file contents that pending changes need. */
export function imagesOfPending(pending: readonly PendingChange[]): ReadonlySet<string> {
  return new Set(pending.flatMap(({ entry }) => imagesOf(entry)));
}

/**
 * Sessions that were not opened, closed or shown anything since `sinceMs`. A session's record has
 * only the times of opening and closing, so its sightings are checked as well.
 */
export async function idleSessions(
  store: Store,
  sinceMs: number,
  filter?: Parameters<Store['sessions']>[0],
): Promise<readonly SessionRecord[]> {
  const unused = (await store.sessions(filter)).filter(({ lastMs }) => lastMs < sinceMs);
  const isIdle = await inSteps(unused, async ({ id }) =>
    (await store.sightings(id)).every(({ atMs }) => atMs < sinceMs),
  );
  return unused.filter((_, index) => isIdle[index]);
}

interface PurgeRequest {
  /**
   * A file or a folder including its contents, existing or not. Undefined: all files whose names
   * indicate secrets.
   */
  readonly key: string | undefined;
  readonly nowMs: number;
  readonly dryRun: boolean;
  /** Called with the hashes of the purged contents, to remove copies elsewhere. */
  onPurge?(hashes: ReadonlySet<string>): void;
}

/**
 * Removes all stored contents of the files that `request.key` selects. Their changes can then no
 * longer be undone. Equal contents of other files are removed too, because equal bytes are stored
 * once. Contents that a pending change needs stay.
 */
export async function purgeImages({ store, images }: GcStores, request: PurgeRequest): Promise<ImageUsage> {
  const hashes = await hashesOf(store, request.key);
  if (request.dryRun) return storedUsage(images, hashes);
  const removed = await images.remove([...hashes], async () => imagesOfPending(await store.pending()));
  request.onPurge?.(hashes);
  const whose = request.key === undefined ? ' of secret files' : '';
  const text = `purged ${countOf(removed.count, 'kept image')}${whose}: earlier changes cannot be undone`;
  // Record the purge with the root `/`, which contains every workspace. A query of the journal in
  // any workspace then finds the entry.
  const about =
    request.key === undefined ? { root: '/' } : { root: '/', path: request.key.replace(/^\//, '') };
  const entry = { kind: 'notice', atMs: request.nowMs, session: 'lookfirst', ...about, text } as const;
  await store.record({ entries: [entry] });
  return removed;
}

/** The hashes of all known contents of the purged files: before or after a change, or shown to a session. */
async function hashesOf(store: Store, purged: string | undefined): Promise<ReadonlySet<string>> {
  const isPurged = (key = ''): boolean => (purged === undefined ? isSecretPath(key) : isWithin(key, purged));
  const hashes = new Set<string>();
  for await (const { deltas } of walkEntries(store, { kinds: ['change'] }))
    for (const sha256 of byPath(deltas)
      .filter((delta) => isPurged(delta.key))
      .flatMap(sidesOf))
      hashes.add(sha256);
  await inSteps(await store.sessions(), async ({ id }) => {
    for (const { key, fingerprint } of await store.sightings(id))
      if (isPurged(key)) hashes.add(fingerprint?.sha256 ?? '');
  });
  // A closed session's sightings are gone, but its reads are still in the journal.
  for await (const entry of walkEntries(store, { kinds: ['read'] }))
    if (isPurged(entry.key ?? plainKey(entry))) hashes.add(entry.sha256 ?? '');
  hashes.delete('');
  return hashes;
}

function sidesOf({ before, after }: Delta): string[] {
  return [before, after].flatMap((side) => (side.kind === 'file' ? [side.fingerprint.sha256] : []));
}

/** The number and size of the stored contents, or of those among `hashes`. */
export async function storedUsage(images: Images, hashes?: ReadonlySet<string>): Promise<ImageUsage> {
  let [count, bytes] = [0, 0];
  for await (const image of images.list()) {
    if (hashes?.has(image.sha256) === false) continue;
    count += 1;
    bytes += image.bytes;
  }
  return { count, bytes };
}
