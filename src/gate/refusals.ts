import type { Ledger } from '../ledger/ledger.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import { clip } from '../report/bounded.ts';
import { keptWords } from '../report/kept.ts';
import type { Evidence } from './prepared.ts';
import type { World } from './world.ts';

/** What is kept of a path that was refused; no system has longer ones, and callers send what they like. */
const MAX_PATH_CHARS = 4096;
/** Files remembered at most; a streak that is forgotten only explains itself later. */
const MAX_STREAKS = 1000;

/** Counts refusals in a row and puts each into the journal, together with what it showed of the file. */
export class Refusals {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #streaks = new Map<string, { readonly code: string; readonly count: number }>();

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /** Returns the refusal with its count; the third in a row explains itself (see report/). */
  async record(item: {
    readonly refusal: Refusal;
    readonly credit?: Sighting;
    readonly evidence?: Evidence;
    /** The call passes all the same. */
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
      // The refusal is about to be answered: calls that are here already do not know what it shows.
      const by = { answeredAt: performance.now() };
      this.#ledger.views.add(credit.key, { by, before: await this.#ledger.recall(credit.key) });
    }
    await this.#ledger.record(credit === undefined ? [] : [credit], { entries: [entry] });
    return { refusal };
  }

  /** A successful read or change of a path starts its count again: what comes then is not in a row. */
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

/** How much of a change the refusal showed instead of asking for another read. */
function diffBytesOf({ detail }: Refusal): { readonly diffBytes?: number } {
  return detail?.diff === undefined ? {} : { diffBytes: Buffer.byteLength(detail.diff) };
}

/** What the journal says of it besides the code. */
function textOf({ path, detail: { reason, kept = [] } = {} }: Refusal): { readonly text?: string } {
  if (reason === 'declined') return { text: 'the user declined it' };
  // For people: agents are not told how to approve.
  if (reason === 'approval')
    return { text: `needs approval: lookfirst allow ${JSON.stringify(clip(path, MAX_PATH_CHARS))} --once` };
  if (kept.length === 0) return reason === undefined ? {} : { text: reason };
  return { text: `${reason === undefined ? '' : `${reason}. `}${keptWords(kept)}` };
}
