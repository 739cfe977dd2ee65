import type { Images, ImageUsage, KeptImage } from '../store/images.ts';
import type { Store } from '../store/store.ts';
import { idleSessions } from './idle-sessions.ts';
import { imagesOfPending, imagesSeen, lastUses } from './image-use.ts';

export interface GcLimits {
  /** Entries older than this are removed, with images that only they need; 0 = keep all. */
  readonly retentionMs: number;
  /**
   * Limit for images. Beyond it the oldest changes are removed with their images, but never the
   * newest; 0 = no limit.
   */
  readonly quotaBytes: number;
  /** Unnamed sessions idle for this long are removed; 0 = never. */
  readonly sessionIdleMs: number;
}

/** The entries, images and sessions that a clean-up will remove. */
export interface GcPlan {
  /** Entries up to and including this number. */
  readonly throughSeq: number;
  readonly entries: number;
  readonly images: readonly KeptImage[];
  readonly sessions: readonly string[];
  /** Disk usage of the images to remove (`frees`) and of those to keep (`leaves`). */
  readonly frees: ImageUsage;
  readonly leaves: ImageUsage;
  /** The newest entry at planning time. Later entries are checked again before images are removed. */
  readonly headSeq: number;
}

export interface GcSetting {
  readonly store: Store;
  readonly images: Images;
}

/** An image that no entry uses may belong to a change that is just being announced, so recent ones are kept. */
const GRACE_MS = 10 * 60_000;

/**
 * Plans what can be removed, and removes nothing. Never includes images of kept entries or of
 * pending changes.
 */
export async function planGc({ store, images }: GcSetting, limits: GcLimits, nowMs: number): Promise<GcPlan> {
  const { head, checkpoint } = await store.state();
  const uses = new Uses(await lastUses(store, {}), imagesOfPending(await store.pending()));
  const seen = await imagesSeen(store);
  const sorted = await sortImages(images, { uses, seen, nowMs });
  const expired =
    limits.retentionMs === 0 ? 0 : await lastBefore(store, nowMs - limits.retentionMs, head.seq);
  const room = limits.quotaBytes === 0 ? Infinity : limits.quotaBytes;
  const throughSeq = Math.max(checkpoint.seq, expired, cutForQuota(sorted, { expired, room, uses }));

  const going = [...sorted.loose];
  const staying: KeptImage[] = [...sorted.fresh];
  for (const image of sorted.used) (uses.of(image) <= throughSeq ? going : staying).push(image);
  let taken = sizeOf(staying);
  for (const image of sorted.shown) {
    const fits = taken + image.bytes <= room;
    if (fits) taken += image.bytes;
    (fits ? staying : going).push(image);
  }
  return {
    throughSeq,
    entries: throughSeq - checkpoint.seq,
    images: going,
    sessions: await idleUnnamed(store, limits, nowMs),
    frees: usageOf(going),
    leaves: usageOf(staying),
    headSeq: head.seq,
  };
}

/** The last entry that needs each image; Infinity for images of pending changes. */
class Uses {
  readonly newestChange: number;
  readonly #last: ReadonlyMap<string, number>;
  readonly #pending: ReadonlySet<string>;

  constructor(last: ReadonlyMap<string, number>, pending: ReadonlySet<string>) {
    this.#last = last;
    this.#pending = pending;
    this.newestChange = [...last.values()].reduce((newest, seq) => Math.max(newest, seq), 0);
  }

  of({ sha256 }: KeptImage): number {
    return this.#pending.has(sha256) ? Infinity : (this.#last.get(sha256) ?? 0);
  }
}

interface SortedImages {
  /** Needed by an entry or a pending change, ordered by last use, oldest first. */
  readonly used: readonly KeptImage[];
  /** Not needed, but shown to a session; newest first. */
  readonly shown: readonly KeptImage[];
  /** Not needed yet, but too recent to remove. */
  readonly fresh: readonly KeptImage[];
  readonly loose: readonly KeptImage[];
}

async function sortImages(
  images: Images,
  { uses, seen, nowMs }: { uses: Uses; seen: ReadonlySet<string>; nowMs: number },
): Promise<SortedImages> {
  const sorted = { used: [], shown: [], fresh: [], loose: [] } as Record<keyof SortedImages, KeptImage[]>;
  for await (const image of images.list()) {
    if (uses.of(image) > 0) sorted.used.push(image);
    else if (image.sinceMs > nowMs - GRACE_MS) sorted.fresh.push(image);
    else if (seen.has(image.sha256)) sorted.shown.push(image);
    else sorted.loose.push(image);
  }
  sorted.used.sort((a, b) => uses.of(a) - uses.of(b));
  sorted.shown.sort((a, b) => b.sinceMs - a.sinceMs);
  return sorted;
}

/** The last entry number before all entries newer than `ms`. Numbers are ordered; clocks may not be. */
async function lastBefore(store: Store, ms: number, headSeq: number): Promise<number> {
  const [first] = await store.entries({ sinceMs: ms, order: 'oldest', limit: 1 });
  return first === undefined ? headSeq : first.seq - 1;
}

/** The entry number up to which changes must be removed so that the remaining images fit. */
function cutForQuota(
  { used, fresh }: SortedImages,
  { expired, room, uses }: { expired: number; room: number; uses: Uses },
): number {
  const staying = used.filter((image) => uses.of(image) > expired);
  let bytes = sizeOf(staying) + sizeOf(fresh);
  let cut = 0;
  for (const image of staying) {
    const last = uses.of(image);
    if (bytes <= room || last >= uses.newestChange) break;
    bytes -= image.bytes;
    cut = last;
  }
  return cut;
}

async function idleUnnamed(store: Store, limits: GcLimits, nowMs: number): Promise<string[]> {
  if (limits.sessionIdleMs === 0) return [];
  const idle = await idleSessions(store, nowMs - limits.sessionIdleMs);
  return idle.filter((session) => !session.named).map((session) => session.id);
}

function sizeOf(images: readonly KeptImage[]): number {
  return images.reduce((sum, image) => sum + image.bytes, 0);
}

function usageOf(images: readonly KeptImage[]): ImageUsage {
  return { count: images.length, bytes: sizeOf(images) };
}
