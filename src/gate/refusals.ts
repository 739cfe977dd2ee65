import { relative, resolve, sep } from 'node:path';
import { nothingChanged } from '../model/fault.ts';
import { isWithin } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import { passOn, type Refusal, reasonOf } from '../model/verdict.ts';
import { clip } from '../report/bounded.ts';
import { keptWords } from '../report/evidence.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Evidence } from './prepared.ts';
import type { World } from './world.ts';

/** A refused path is cut to this length. No system has longer paths, but callers may send anything. */
const MAX_PATH_CHARS = 4096;

/**
 * Maximum number of paths for which successive refusals are counted. Beyond it, the path that was
 * refused longest ago loses its count. That only delays the explanation that repeated refusals get.
 */
const MAX_STREAKS = 1000;

/** Equal refusals of one path in a row. */
interface Streak extends Pick<Refusal, 'code' | 'action'> {
  readonly reason: string | undefined;
  readonly count: number;
}

/** Journals refusals, and records the lines that they show as seen. Counts successive refusals per path. */
export class Refusals {
  readonly #world: World;
  readonly #knowledge: Knowledge;
  readonly #streaks = new Map<string, Streak>();

  constructor(world: World, knowledge: Knowledge) {
    this.#world = world;
    this.#knowledge = knowledge;
  }

  /**
   * Journals a refusal. Returns it with the number of equal refusals in a row: from the third on,
   * some carry an explanation (see report/).
   */
  async record(item: {
    readonly refusal: Refusal;
    readonly credit?: Sighting;
    readonly evidence?: Evidence | undefined;
    /** Set under `mode: observe`: the refusal is recorded, but the call is not stopped. */
    readonly observed?: true;
    /** The session in the refused call: the lines that the refusal shows count only for later calls. */
    readonly knowledge?: Knowledge;
  }): Promise<{ readonly refusal: Refusal }> {
    const refusal = this.#counted(item.refusal);
    const entry = {
      kind: 'refusal' as const,
      atMs: this.#world.now(),
      ...this.#knowledge.author,
      ...refusedPlace(this.#world.workspace.roots, refusal.path),
      action: refusal.action,
      code: refusal.code,
      next: refusal.next,
      ...textOf(refusal),
      ...diffBytesOf(refusal),
      ...item.evidence,
      ...(item.observed === undefined ? {} : { observed: item.observed }),
    };
    const { credit, knowledge = this.#knowledge } = item;
    try {
      await knowledge.show(credit === undefined ? [] : [credit], { entries: [entry] });
    } catch (error) {
      throw nothingChanged(error);
    }
    return { refusal };
  }

  /** Resets the count of a path, after a successful read, listing or change. */
  reset(path: string): void {
    if (this.#streaks.size > 0) this.#streaks.delete(clip(path, MAX_PATH_CHARS));
  }

  /**
   * Resets the count of refused searches of a path, after a successful one. Keeps the count of other
   * refusals, because a search does not replace a read.
   */
  resetSearches(path: string): void {
    if (this.#streaks.get(clip(path, MAX_PATH_CHARS))?.action === 'search') this.reset(path);
  }

  resetAll(paths: readonly string[]): void {
    for (const path of paths) this.reset(path);
  }

  #counted(refusal: Refusal): Refusal {
    const key = clip(refusal.path, MAX_PATH_CHARS);
    const last = this.#streaks.get(key);
    const count = last !== undefined && repeats(refusal, last) ? last.count + 1 : 1;
    const { code, action } = refusal;
    this.#streaks.delete(key);
    this.#streaks.set(key, { code, action, reason: reasonOf(refusal), count });
    for (const path of this.#streaks.keys()) {
      if (this.#streaks.size <= MAX_STREAKS) break;
      this.#streaks.delete(path);
    }
    return passOn(refusal, { repeated: count });
  }
}

/**
 * True if a refusal continues the streak of its path: it has the same code. If the call itself is
 * wrong, and not the state of the file, the action and the reason must be the same too.
 */
function repeats(refusal: Refusal, last: Streak): boolean {
  const { code, action } = refusal;
  if (code !== last.code) return false;
  if (code !== 'INVALID_ARGUMENT' && action !== 'undo') return true;
  return action === last.action && reasonOf(refusal) === last.reason;
}

/**
 * The root and path of a refused call, for the journal. A path outside all roots stays as the
 * caller wrote it.
 */
function refusedPlace(
  roots: readonly string[],
  given: string,
): { readonly root: string; readonly path: string } {
  const [first = ''] = roots;
  const full = resolve(first, given);
  const root = roots.find((each) => isWithin(full, each));
  if (root === undefined) return { root: first, path: clip(given, MAX_PATH_CHARS) };
  return { root, path: clip(relative(root, full).replaceAll(sep, '/'), MAX_PATH_CHARS) };
}

/** Size in bytes of the diff in the refusal, which spares the session another read. */
function diffBytesOf({ code, detail }: Refusal): { readonly diffBytes?: number } {
  const diff = code === 'STALE' || code === 'COMMAND_CONFLICT' ? detail?.diff : undefined;
  return diff === undefined ? {} : { diffBytes: Buffer.byteLength(diff) };
}

/** The journal's text for a refusal, besides its code. */
function textOf(refusal: Refusal): { readonly text?: string } {
  const { code, path, detail: { kept = [] } = {} } = refusal;
  if (code === 'PROTECTED' && refusal.detail?.cause === 'declined') return { text: 'the user declined it' };
  if (code === 'PROTECTED' && refusal.detail?.cause === 'approval')
    return { text: `needs approval: lookfirst allow ${JSON.stringify(clip(path, MAX_PATH_CHARS))} --once` };
  const reason = reasonOf(refusal);
  if (kept.length === 0) return reason === undefined ? {} : { text: reason };
  return { text: `${reason === undefined ? '' : `${reason}. `}${keptWords(kept)}` };
}
