import { isBlanked } from '../dialect/calls/shown/receipt.ts';
import { type Access, accessesOf, type RecordedCall, viewsOf } from './accesses-of.ts';
import { carriedView } from './edit-view.ts';
import type { SeenEntry, WaitingCall } from './entry.ts';
import { bareView, type HistoryOptions, type TranscriptView } from './history-sighting.ts';
import { isInside, locate } from './paths.ts';
import type { RecordedResult } from './tool-result.ts';

/**
 * Maximum number of calls waiting for results. Real conversations have a few; beyond the limit the oldest are dropped.
 */
const MAX_WAITING = 10_000;
/**
 * Number of waiting calls dropped per step. Dropping one by one is slow, because finding a map's first key slows down
 * after many deletions.
 */
const GIVEN_UP = 1000;
/** Maximum number of earlier views of a file whose lines still count as seen after an edit. */
const MAX_CARRIED = 8;

/** Notified of each call and result, and of each successful change before the fold adds the change's view. */
export interface FoldObserver {
  called(call: RecordedCall): void;
  answered(result: RecordedResult): void;
  changed(change: ObservedChange): void;
}

export interface ObservedChange {
  readonly access: Extract<Access, { readonly kind: 'write' | 'edit' }>;
  readonly result: RecordedResult;
  /** The views of the file that the model was shown before the change, newest first. */
  readonly latest: readonly SeenEntry[];
}

/**
 * Collects which file contents the model of a conversation has in its context. The parser of each
 * transcript format passes in the calls and results. Pairs results with calls by id; only the first
 * result of a call counts. Holds hashes and ranges, never contents.
 */
export class Fold {
  readonly options: HistoryOptions;
  readonly #observer: FoldObserver | undefined;
  /** Position of the current record in the transcript. The parser of the format advances it. */
  place = 0;
  /** True if an entry is still part of the conversation. Set by formats whose conversations have branches. */
  sees: (entry: SeenEntry) => boolean = () => true;
  readonly #waiting = new Map<string, WaitingCall>();
  readonly #seen = new SeenList();
  readonly #reasons: Record<string, number> = {};
  #calls = 0;

  constructor(options: HistoryOptions, observer?: FoldObserver) {
    this.options = options;
    this.#observer = observer;
  }

  get reasons(): Readonly<Record<string, number>> {
    return this.#reasons;
  }

  /**
   * The latest views of a file, newest first. Leaves out views without a hash of their text, and
   * views that are no longer part of the conversation. Searches only the last `MAX_CARRIED` views.
   */
  *lastShown(path: string): Iterable<SeenEntry> {
    const entries = this.#seen.of(`path ${path}`);
    for (let at = entries.length - 1; at >= 0 && at >= entries.length - MAX_CARRIED; at -= 1) {
      const entry = entries[at];
      if (entry?.view.shown !== undefined && this.sees(entry)) yield this.#rooted(entry);
    }
  }

  call(call: RecordedCall): void {
    this.#observer?.called(call);
    const ordinal = this.#calls;
    this.#calls += 1;
    const { id, message } = call;
    const accesses = accessesOf(call, call.cwd ?? this.options.cwd, this.#locate);
    if (accesses.length === 0) {
      // A new call uses this id again, so the earlier call with the id can get no result any more.
      this.#waiting.delete(id);
      return;
    }
    if (this.#waiting.size >= MAX_WAITING) this.#giveUpOldest();
    const { place } = this;
    const waiting =
      message === undefined ? { id, accesses, ordinal, place } : { id, accesses, ordinal, place, message };
    const earlier = this.#waiting.get(id);
    this.#waiting.set(
      id,
      earlier !== undefined && differs(earlier, waiting) ? { ...waiting, ambiguous: true } : waiting,
    );
  }

  result(result: RecordedResult): void {
    this.#observer?.answered(result);
    const call = this.#waiting.get(result.id);
    if (call === undefined) {
      this.#blankLater(result);
      return;
    }
    this.#waiting.delete(result.id);
    if (!result.ok || call.ambiguous === true) return;
    if (result.views !== undefined) this.#addAll(this.#located(result.views), result, call);
    else for (const access of call.accesses) this.#addAccess(access, result, call);
  }

  /** Adds a view that the host showed without a call. */
  show(
    id: string,
    view: TranscriptView,
    where: { readonly atMs?: number | undefined; readonly message?: string },
  ): void {
    const call: WaitingCall = { id, accesses: [], ordinal: this.#calls, place: this.place };
    this.#addAll(this.#located([view]), { id, ok: true, flagged: true, ...where }, call);
  }

  skip(reason: string): void {
    this.#reasons[reason] = (this.#reasons[reason] ?? 0) + 1;
  }

  /**
   * Removes all entries except those that `keep` selects, because the host has summarised the context. The kept
   * entries move to the current position.
   */
  compact(keep?: (entry: SeenEntry) => boolean): void {
    const kept = keep === undefined ? [] : this.#seen.values().filter(keep);
    this.#seen.replace(kept.map((entry) => ({ ...entry, place: this.place })));
  }

  /** Removes all entries and all waiting calls, because the conversation starts over. */
  reset(): void {
    this.#waiting.clear();
    this.#calls = 0;
    this.#seen.replace([]);
  }

  forgetCalls(ids: Iterable<string>): void {
    for (const id of ids) this.#seen.remove(`call ${id}`);
  }

  forgetMessage(message: string): void {
    this.#seen.remove(`message ${message}`);
    for (const [id, call] of this.#waiting) if (call.message === message) this.#waiting.delete(id);
  }

  /** Removes entries and waiting calls from this position on: the conversation was cut back to it. */
  forgetFrom(place: number): void {
    this.#retain((entry) => entry.place < place);
    for (const [id, call] of this.#waiting) if (call.place >= place) this.#waiting.delete(id);
  }

  /** Removes the entries of the oldest `count` calls, because the host has cleared their results. */
  forgetOldest(count: number): void {
    this.#retain((entry) => entry.ordinal >= count);
  }

  /** Entries of one file that are still part of the conversation, oldest first. */
  of(path: string): readonly SeenEntry[] {
    return this.#seen.of(`path ${path}`).filter(this.sees).map(this.#rooted);
  }

  /**
   * True if `answer` is true for any entry of this file. Only entries that are still part of the conversation count.
   */
  some(path: string, answer: (entry: SeenEntry) => boolean): boolean {
    return this.#seen.of(`path ${path}`).some((entry) => answer(entry) && this.sees(entry));
  }

  /** All entries that are still part of the conversation, oldest first. */
  entries(): readonly SeenEntry[] {
    return this.#seen.values().filter(this.sees).map(this.#rooted);
  }

  #retain(keep: (entry: SeenEntry) => boolean): void {
    this.#seen.replace(this.#seen.values().filter(keep));
  }

  #giveUpOldest(): void {
    let left = GIVEN_UP;
    for (const id of this.#waiting.keys()) {
      if (left === 0) return;
      this.#waiting.delete(id);
      this.skip('call-given-up');
      left -= 1;
    }
  }

  /** Removes the views of a call if the host has recorded its result a second time, emptied or shortened. */
  #blankLater(result: RecordedResult): void {
    const { id, text } = result;
    if (text !== undefined && isBlanked(text)) this.#seen.remove(`call ${id}`);
  }

  #addAccess(access: Access, result: RecordedResult, call: WaitingCall): void {
    if (this.#observer !== undefined && (access.kind === 'write' || access.kind === 'edit'))
      this.#observer.changed({ access, result, latest: [...this.lastShown(access.path)] });
    if (access.kind !== 'edit' || result.edited === undefined) {
      this.#addAll(viewsOf(access, result, this.#locate), result, call);
      return;
    }
    const carried = carriedView(access.path, this.lastShown(access.path), result.edited);
    this.#add(carried.view, result, call, carried.roots);
  }

  /**
   * Returns the entry unchanged, or without its lines if it depends on a removed view. An edit's
   * view depends on the views that showed the unchanged lines.
   */
  readonly #rooted = (entry: SeenEntry): SeenEntry => {
    const { roots, view } = entry;
    if (roots?.every((id) => this.#seen.of(`call ${id}`).length > 0) !== false) return entry;
    return { ...entry, view: bareView(view.path, { how: view.how }) };
  };

  /** The views with resolved paths. Leaves out views whose path cannot be resolved. */
  #located(views: readonly TranscriptView[]): readonly TranscriptView[] {
    return views.flatMap((view) => {
      const path = this.#locate(view.path, this.options.cwd);
      if (path === view.path) return [view];
      return path === undefined ? [] : [{ ...view, path }];
    });
  }

  #addAll(views: readonly TranscriptView[], result: RecordedResult, call: WaitingCall): void {
    for (const view of views) this.#add(view, result, call);
  }

  #add(view: TranscriptView, result: RecordedResult, call: WaitingCall, roots?: readonly string[]): void {
    const { root } = this.options;
    if (root !== undefined && !isInside(root, view.path)) {
      this.skip('outside-root');
      return;
    }
    const { atMs, message } = result;
    const { id: callId, ordinal, message: callMessage } = call;
    this.#seen.add({ view, callId, place: this.place, ordinal, atMs, message, callMessage, roots });
  }

  readonly #locate = (given: string, cwd: string | undefined): string | undefined => {
    const path = locate(given, cwd, this.options);
    if (path === undefined) this.skip('no-working-directory');
    return path;
  };
}

/** True if one record has two different calls with the same id: a result could belong to either. */
function differs(earlier: WaitingCall, call: WaitingCall): boolean {
  return earlier.place === call.place && JSON.stringify(earlier.accesses) !== JSON.stringify(call.accesses);
}

type EntryName = `${'path' | 'call' | 'message'} ${string}`;

/** Entries in order of arrival, and by the names of their path, calls and messages. */
class SeenList {
  #all = new Set<SeenEntry>();
  #named = new Map<EntryName, SeenEntry[]>();

  values(): readonly SeenEntry[] {
    return [...this.#all];
  }

  of(name: EntryName): readonly SeenEntry[] {
    return this.#named.get(name) ?? [];
  }

  add(entry: SeenEntry): void {
    this.#all.add(entry);
    for (const name of namesOf(entry)) {
      const list = this.#named.get(name);
      if (list === undefined) this.#named.set(name, [entry]);
      else list.push(entry);
    }
  }

  /** Removes the entries with this name. */
  remove(name: EntryName): void {
    for (const entry of this.of(name)) {
      this.#all.delete(entry);
      for (const each of namesOf(entry)) {
        const left = this.of(each).filter((other) => other !== entry);
        if (left.length === 0) this.#named.delete(each);
        else this.#named.set(each, left);
      }
    }
  }

  replace(kept: readonly SeenEntry[]): void {
    this.#all = new Set();
    this.#named = new Map();
    for (const entry of kept) this.add(entry);
  }
}

function namesOf({ view, callId, message, callMessage }: SeenEntry): ReadonlySet<EntryName> {
  const messages = [message, callMessage].flatMap((id): EntryName[] =>
    id === undefined ? [] : [`message ${id}`],
  );
  return new Set<EntryName>([`path ${view.path}`, `call ${callId}`, ...messages]);
}
