import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type DirectoryEntry, linkTarget, listNames, listUnsorted, sizeAndTime } from '../disk/list.ts';
import { kindOf } from '../disk/read.ts';
import { listingFingerprint } from '../gate/tree.ts';
import type { World } from '../gate/world.ts';
import type { ClientCall } from '../model/call.ts';
import { type Coverage, linesCoverage } from '../model/coverage.ts';
import { errnoOf } from '../model/fault.ts';
import type { FileKind, PinnedDirectory, ResolvedPath } from '../model/path.ts';
import type { ListedEntry, ListResult } from '../model/results.ts';
import type { ListOptions } from '../model/session.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import { invalidArgument, type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { absenceOf, type Located } from '../workspace/workspace.ts';

const DEFAULT_LIMIT = 1000;
/**
 * Maximum depth of a listing, because each level keeps a handle open. Deeper entries are reported
 * as left out.
 */
const MAX_DEPTH = 500;

/** Lists a folder. A folder shown in full counts as seen, which permits deleting it. */
export async function listFolder(
  world: World,
  knowledge: Knowledge,
  request: { readonly path: string; readonly options: ListOptions; readonly times: ClientCall },
): Promise<Outcome<ListResult>> {
  const { path, options, times } = request;
  options.signal?.throwIfAborted();
  const { depth = 1, limit = DEFAULT_LIMIT } = options;
  const reason = whyContradictory({ ...options, depth });
  if (reason !== undefined) return refused(invalidArgument('list', path, reason));
  const list = async (located: Located): Promise<Outcome<ListResult>> => {
    const { place } = located;
    if (!located.exists)
      return refused({ code: 'NOT_FOUND', action: 'list', path, next: 'other_path', ...absenceOf(located) });
    if (!located.stats.isDirectory()) return refused(notAFolder(path, kindOf(located.stats)));
    const dir = place.name === '.' ? place.dir : place.dir.enter(place.name);
    try {
      const listing = new Listing(world, { limit, depth, as: options.as ?? 'listing', options });
      await listing.walk(dir, place.path, { prefix: '', depth: 1, kept: 0, after: options.after });
      const known = await knowledge.during(times).show(listing.sightings);
      const { entries, cut } = listing;
      const complete = options.after === undefined ? cut === 0 : isListed(known, place.path.key);
      return { ok: true, path, absolute: place.path.absolute, entries, cut, complete, more: cut !== 0 };
    } finally {
      if (dir !== place.dir) dir.close();
    }
  };
  try {
    return await world.workspace.at({ path, action: 'list' }, list, (denied) => denied);
  } catch (error) {
    return refused(unlisted(path, error));
  }
}

/** True if this page and earlier ones together have shown all entries. */
function isListed(known: readonly Sighting[], key: string): boolean {
  return known.some((seen) => seen.key === key && seen.how === 'listing' && seen.coverage.kind === 'whole');
}

function notAFolder(path: string, kind: FileKind): Refusal {
  const next = kind === 'file' ? 'read' : 'other_path';
  return { code: 'NOT_A_FILE', action: 'list', path, next, detail: { kind } };
}

interface Bounds {
  readonly limit: number;
  readonly depth: number;
  readonly as: NonNullable<ListOptions['as']>;
  readonly options: ListOptions;
}

/** The position of a walk in the tree. */
interface Level {
  readonly prefix: string;
  readonly depth: number;
  /**
   * Number of entries reserved for the later siblings of this folder and of its parents, so that a
   * large folder does not hide its neighbours.
   */
  readonly kept: number;
  /** The name after which the page begins. */
  readonly after?: string | undefined;
}

/** A listing pauses after this many entries (a few milliseconds' work), so that other tasks can run. */
const STRIDE = 1000;
/**
 * Like `STRIDE`, for a listing of only the names in one folder. It makes no system calls per name,
 * so it can pause less often.
 */
const NAMES_STRIDE = 50_000;

/**
 * Walks down a folder tree through open handles, within limits. It yields to other tasks regularly
 * and stops when its signal fires.
 */
class Listing {
  readonly entries: ListedEntry[] = [];
  readonly sightings: Sighting[] = [];
  /**
   * Number of entries found but not shown. Undefined (unknown) once a folder could not be listed or
   * was too deep.
   */
  cut: number | undefined = 0;
  readonly #world: World;
  readonly #bounds: Bounds;
  readonly #stride: number;
  #pauseAt: number;

  constructor(world: World, bounds: Bounds) {
    this.#world = world;
    this.#bounds = bounds;
    this.#stride = bounds.as === 'names' && bounds.depth === 1 ? NAMES_STRIDE : STRIDE;
    this.#pauseAt = this.#stride;
  }

  async walk(dir: PinnedDirectory, path: ResolvedPath, at: Level): Promise<void> {
    const { as, limit } = this.#bounds;
    const names = this.#namesIn(dir, path);
    const { after } = at;
    const skipped = after === undefined ? 0 : names.filter(({ name }) => name <= after).length;
    const visible = this.#visible(path, skipped === 0 ? names : names.slice(skipped));
    const hidden = names.length - visible.length;
    let next = 0;
    while (next < visible.length && this.entries.length < limit - at.kept) {
      if (this.entries.length >= this.#pauseAt) await this.#pause();
      next = this.#show(dir, { folder: path, visible, from: next, at });
      const entry = visible[next - 1];
      if (entry !== undefined && this.#goesInto(entry, at))
        await this.#descend(dir, entry.name, path, { ...at, kept: at.kept + visible.length - next });
    }
    const shown = hidden + next;
    if (this.cut !== undefined) this.cut += names.length - shown;
    if (as !== 'listing') return;
    const page = linesCoverage([{ from: skipped + 1, to: shown }], names.length);
    if (page.kind !== 'none') this.sightings.push(this.#sighting(path, names, page));
  }

  /**
   * Shows entries up to the limit, the next pause or a folder to go into. Returns the index of the
   * first entry not shown. This loop is a separate function, because V8 optimises a synchronous
   * function sooner than an asynchronous one.
   */
  #show(
    dir: PinnedDirectory,
    {
      folder,
      visible,
      from,
      at,
    }: { folder: ResolvedPath; visible: readonly DirectoryEntry[]; from: number; at: Level },
  ): number {
    const { as, limit, options } = this.#bounds;
    const { entries } = this;
    const follows = options.links === 'followed';
    const end = Math.min(visible.length, from + Math.min(limit - at.kept, this.#pauseAt) - entries.length);
    for (let next = from; next < end; next++) {
      const entry = visible[next];
      if (entry === undefined) break;
      const name = `${at.prefix}${entry.name}`;
      const shown = as === 'names' ? { path: name, kind: entry.kind } : describe(dir, entry, name, as);
      entries.push(follows && entry.kind === 'link' ? this.#followed(folder, entry.name, shown) : shown);
      if (this.#goesInto(entry, at)) return next + 1;
    }
    return end;
  }

  /** A link with the size of its target. A link out of the workspace, or to nothing, has no size. */
  #followed(folder: ResolvedPath, name: string, link: ListedEntry): ListedEntry {
    const target = this.#world.workspace.resolve(`${folder.absolute}/${name}`, 'list');
    return target.ok && target.exists ? { ...link, sizeBytes: Number(target.stats.size) } : link;
  }

  #goesInto({ kind }: DirectoryEntry, at: Level): boolean {
    return kind === 'directory' && at.depth < this.#bounds.depth;
  }

  /**
   * The names without the state folder, which is never shown. Names are compared only in the folder
   * that contains the state folder.
   */
  #visible(path: ResolvedPath, names: readonly DirectoryEntry[]): readonly DirectoryEntry[] {
    const { workspace, home } = this.#world;
    const hidden = basename(home);
    if (workspace.child(path, hidden).absolute !== home) return names;
    return names.filter(({ kind, name }) => kind !== 'directory' || name !== hidden);
  }

  /**
   * True for a folder that is protected or lies in a protected folder. Its name is listed, but not
   * its content.
   */
  #isProtected(path: ResolvedPath, name: string): boolean {
    const { workspace } = this.#world;
    return workspace.protectsFrom(workspace.child(path, name), 'list') !== undefined;
  }

  /** The names in a folder. With `links: 'inside'`, links to outside the workspace are left out. */
  #namesIn(dir: PinnedDirectory, folder: ResolvedPath): readonly DirectoryEntry[] {
    const names = this.#bounds.as === 'names' ? listUnsorted(dir) : listNames(dir);
    if (this.#bounds.options.links !== 'inside') return names;
    return names.filter(({ kind, name }) => {
      if (kind !== 'link') return true;
      const target = this.#world.workspace.resolve(`${folder.absolute}/${name}`, 'list');
      return target.ok && target.exists;
    });
  }

  async #pause(): Promise<void> {
    const { signal, onProgress } = this.#bounds.options;
    this.#pauseAt = this.entries.length + this.#stride;
    onProgress?.(this.entries.length);
    await nextTurn();
    signal?.throwIfAborted();
  }

  async #descend(dir: PinnedDirectory, name: string, path: ResolvedPath, at: Level): Promise<void> {
    if (this.#isProtected(path, name)) return;
    if (at.depth >= MAX_DEPTH) {
      this.cut = undefined;
      return;
    }
    try {
      const inner = dir.enter(name);
      try {
        await this.walk(inner, this.#world.workspace.child(path, name), {
          prefix: `${at.prefix}${name}/`,
          depth: at.depth + 1,
          kept: at.kept,
        });
      } finally {
        inner.close();
      }
    } catch (error) {
      // Ignore a system error: the folder is gone or unreadable. Continue with the rest of the
      // tree.
      if (errnoOf(error) === undefined) throw error;
      this.cut = undefined;
    }
  }

  /**
   * Records that entries of a folder were shown. They count as lines, so that pages of an unchanged
   * folder add up to a full view.
   */
  #sighting(path: ResolvedPath, names: readonly DirectoryEntry[], coverage: Coverage): Sighting {
    return {
      key: path.key,
      fingerprint: listingFingerprint(names),
      stamp: undefined,
      racy: true,
      coverage,
      totalLines: names.length,
      flags: NO_FLAGS,
      how: 'listing',
      atMs: this.#world.now(),
    };
  }
}

function describe(
  dir: PinnedDirectory,
  entry: DirectoryEntry,
  path: string,
  as: Exclude<ListOptions['as'], undefined>,
): ListedEntry {
  const { kind } = entry;
  if (kind === 'link') {
    const target = linkTarget({ dir, name: entry.name });
    return { path, kind, ...(target === undefined ? {} : { target }) };
  }
  const isSized = kind === 'file' || (kind === 'directory' && as === 'entries');
  const found = isSized ? sizeAndTime(dir, entry.name) : undefined;
  if (found === undefined) return { path, kind };
  return kind === 'file' ? { path, kind, ...found } : { path, kind, sizeBytes: found.sizeBytes };
}

function whyContradictory({ depth, after, links, as = 'listing' }: ListOptions): string | undefined {
  if (after !== undefined && depth !== 1)
    return 'the option after continues the listing of one folder: leave depth out';
  if (links === 'inside' && as === 'listing')
    return 'the option links: "inside" is only for names, not for a listing';
  if (links === 'followed' && as !== 'entries')
    return 'the option links: "followed" is only for entries, which have sizes';
  return after !== undefined && as === 'names'
    ? 'the option after needs a sorted listing, but names are not sorted'
    : undefined;
}

/** The refusal for a folder that cannot be read or was replaced meanwhile. */
function unlisted(path: string, error: unknown): Refusal {
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return { code: 'UNVERIFIABLE', action: 'list', path, next: 'ask_human', detail: { errno } };
}
