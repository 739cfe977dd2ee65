import type { Ledger } from '../ledger/ledger.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import { clip } from '../report/bounded.ts';
import { keptWords } from '../report/evidence.ts';
import type { Evidence } from './prepared.ts';
import type { World } from './world.ts';

/** A refused path is cut to this length. No system has longer paths, but callers may send anything. */
const MAX_PATH_CHARS = 4096;
/** Number of files whose refusals are counted. A forgotten count only delays the explanation. */
const MAX_STREAKS = 1000;

/** Counts successive refusals per path and journals each, with the lines it showed. */
export class Refusals {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #streaks = new Map<string, { readonly code: string; readonly count: number }>();

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /** Returns the refusal with its count. The third in a row carries an explanation (see report/). */
  async record(item: {
    readonly refusal: Refusal;
    readonly credit?: Sighting;
    readonly evidence?: Evidence;
    /** Set if the policy only observes: the call passes anyway. */
    readonly observed?: true;
  }): Promise<{ readonly refusal: Refusal }> {
    const refusal = this.#counted(item.refusal);
    const root = this.#world.workspace.roots[0] ?? '';
    const entry = {
      kind: 'refusal' as const,
      atMs: this.#world.now(),
      ...this.#ledger.author,
      root,
      action: refusal.action,
      path: clip(refusal.path, MAX_PATH_CHARS),
      code: refusal.code,
      next: refusal.next,
      ...textOf(refusal),
      ...diffBytesOf(refusal),
      ...item.evidence,
      ...(item.observed === undefined ? {} : { observed: item.observed }),
    };
    const { credit } = item;
    if (credit !== undefined) {
      // The answer is about to be sent. Calls that have already arrived cannot know the lines it shows.
      const by = { answeredAt: performance.now() };
      this.#ledger.views.add(credit.key, { by, before: await this.#ledger.recall(credit.key) });
    }
    await this.#ledger.record(credit === undefined ? [] : [credit], { entries: [entry] });
    return { refusal };
  }

  /** Resets the count of a path, after a successful read or change. */
  reset(path: string): void {
    this.#streaks.delete(clip(path, MAX_PATH_CHARS));
  }

  resetAll(paths: readonly string[]): void {
    for (const path of paths) this.reset(path);
  }

  #counted(refusal: Refusal): Refusal {
    const key = clip(refusal.path, MAX_PATH_CHARS);
    const last = this.#streaks.get(key);
    const count = last?.code === refusal.code ? last.count + 1 : 1;
    this.#streaks.delete(key);
    this.#streaks.set(key, { code: refusal.code, count });
    for (const path of this.#streaks.keys()) {
      if (this.#streaks.size <= MAX_STREAKS) break;
      this.#streaks.delete(path);
    }
    return { ...refusal, detail: { ...refusal.detail, repeated: count } };
  }
}

/** Size of the diff that the refusal showed instead of demanding another read. */
function diffBytesOf({ detail }: Refusal): { readonly diffBytes?: number } {
  return detail?.diff === undefined ? {} : { diffBytes: Buffer.byteLength(detail.diff) };
}

/** The journal's text for a refusal, besides its code. */
function textOf({ path, detail: { reason, kept = [] } = {} }: Refusal): { readonly text?: string } {
  if (reason === 'declined') return { text: 'the user declined it' };
  // Only the journal, which users read, says how to approve; agents are not told.
  if (reason === 'approval')
    return { text: `needs approval: lookfirst allow ${JSON.stringify(clip(path, MAX_PATH_CHARS))} --once` };
  if (kept.length === 0) return reason === undefined ? {} : { text: reason };
  return { text: `${reason === undefined ? '' : `${reason}. `}${keptWords(kept)}` };
}
