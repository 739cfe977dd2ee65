import type { Access } from './access.ts';
import { accessesOf, type ToolCall } from './accesses-of.ts';
import { isBlanked } from './blanked.ts';
import { carriedView } from './edit-view.ts';
import type { SeenEntry, WaitingCall } from './entry.ts';
import type { HistoryOptions } from './history-sighting.ts';
import { isInside, locate } from './paths.ts';
import type { ToolResult } from './tool-result.ts';
import type { View } from './view.ts';
import { changeViews, viewsOf } from './views-of.ts';

/** The state of a fold, as plain JSON. */
export interface FoldState {
  readonly waiting: readonly (readonly [string, WaitingCall])[];
  readonly seen: readonly SeenEntry[];
  readonly place: number;
  readonly calls: number;
  readonly order: number;
  readonly reasons: Readonly<Record<string, number>>;
}

/**
 * What the model of a conversation has in its context, folded from calls and results as formats hand them in: one pass,
 * pairing by id, the first result after a call decides. Holds hashes and ranges, never contents.
 */
export class Fold {
  readonly options: HistoryOptions;
  /** Position of the record being read; formats move it on. */
  place = 0;
  /** Is an entry still part of the conversation? Set by formats whose conversations have branches. */
  sees: (entry: SeenEntry) => boolean = () => true;
  readonly #waiting = new Map<string, WaitingCall>();
  readonly #byCall = new Map<string, SeenEntry[]>();
  readonly #byPath = new Map<string, SeenEntry[]>();
  readonly #reasons: Record<string, number> = {};
  #calls = 0;
  #order = 0;

  constructor(options: HistoryOptions) {
    this.options = options;
  }

  /** How many calls were seen so far; the next one has this ordinal. */
  get calls(): number {
    return this.#calls;
  }

  get reasons(): Readonly<Record<string, number>> {
    return this.#reasons;
  }

  /** Does anything wait for this result? Lets a format leave results unparsed that nothing waits for. */
  awaits(id: string): boolean {
    return this.#waiting.has(id);
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  call(call: ToolCall): void {
    const ordinal = this.#calls;
    this.#calls += 1;
    const accesses = accessesOf({ ...call, cwd: call.cwd ?? this.options.cwd }, this.#locate);
    if (accesses.length === 0) {
      // An id used again no longer waits for its old result.
      this.#waiting.delete(call.id);
      return;
    }
    const { place } = this;
    const message = call.message === undefined ? {} : { message: call.message };
    const twin = this.#waiting.get(call.id);
    const ambiguous =
      twin !== undefined &&
      twin.place === place &&
      JSON.stringify(twin.accesses) !== JSON.stringify(accesses);
    this.#waiting.set(call.id, {
      accesses,
      ordinal,
      place,
      ...message,
      ...(ambiguous ? { ambiguous: true } : {}),
    });
  }

  result(result: ToolResult): void {
    const call = this.#waiting.get(result.id);
    if (call === undefined) {
      this.#blankLater(result);
      return;
    }
    this.#waiting.delete(result.id);
    if (!result.ok || call.ambiguous === true) return;
    const changes = result.changes === undefined ? undefined : changeViews(result);
    const views = changes ?? call.accesses.flatMap((access) => this.#viewsOf(access, result));
    for (const view of views) this.#add(view, result, call);
  }

  /** Something the host itself showed, without a call. */
  show(
    id: string,
    view: View,
    where: { readonly atMs?: number | undefined; readonly message?: string },
  ): void {
    const call: WaitingCall = { accesses: [], ordinal: this.#calls, place: this.place };
    this.#add(view, { id, ok: true, flagged: true, ...where }, call);
  }

  skip(reason: string): void {
    this.#reasons[reason] = (this.#reasons[reason] ?? 0) + 1;
  }

  /** The context was summarised: nothing counts any more but what `keep` names, which moves to the current place. */
  compact(keep?: (entry: SeenEntry) => boolean): void {
    const kept = keep === undefined ? [] : this.#all().filter(keep);
    this.#replace(kept.map((entry) => ({ ...entry, place: this.place })));
  }

  /** What calls waited for is gone too: their messages are no longer part of the conversation. */
  reset(): void {
    this.#waiting.clear();
    this.#calls = 0;
    this.#retain(() => false);
  }

  forgetCalls(ids: Iterable<string>): void {
    for (const id of ids) for (const entry of this.#byCall.get(id) ?? []) this.#remove(entry);
  }

  forgetMessage(message: string): void {
    this.#retain((entry) => entry.message !== message && entry.callMessage !== message);
    for (const [id, call] of this.#waiting) if (call.message === message) this.#waiting.delete(id);
  }

  /** The conversation was cut back: this place and all after it are gone. */
  forgetFrom(place: number): void {
    this.#retain((entry) => entry.place < place);
    for (const [id, call] of this.#waiting) if (call.place >= place) this.#waiting.delete(id);
  }

  /** The oldest `count` calls were cleared. */
  forgetOldest(count: number): void {
    this.#retain((entry) => entry.ordinal >= count);
  }

  /** Entries of one file that are still part of the conversation, oldest first. */
  of(path: string): readonly SeenEntry[] {
    return (this.#byPath.get(path) ?? []).filter(this.sees);
  }

  /** Does any entry of a file that is still part of the conversation answer? */
  some(path: string, answer: (entry: SeenEntry) => boolean): boolean {
    return (this.#byPath.get(path) ?? []).some((entry) => answer(entry) && this.sees(entry));
  }

  /** All entries that are still part of the conversation, oldest first. */
  entries(): readonly SeenEntry[] {
    return this.#all().filter(this.sees);
  }

  state(): FoldState {
    return {
      waiting: [...this.#waiting],
      seen: this.#all(),
      place: this.place,
      calls: this.#calls,
      order: this.#order,
      reasons: { ...this.#reasons },
    };
  }

  restore(state: FoldState): void {
    for (const [id, call] of state.waiting) this.#waiting.set(id, call);
    for (const entry of state.seen) this.#insert(entry);
    Object.assign(this.#reasons, state.reasons);
    this.place = state.place;
    this.#calls = state.calls;
    this.#order = state.order;
  }

  /** A later copy of a result that holds nothing any more: the host blanked it. */
  #blankLater(result: ToolResult): void {
    if (result.text !== undefined && this.#byCall.has(result.id) && isBlanked(result.text))
      this.forgetCalls([result.id]);
  }

  #viewsOf(access: Access, result: ToolResult): readonly View[] {
    if (access.kind !== 'edit' || result.edited === undefined) return viewsOf(access, result, this.#locate);
    const earlier = this.of(access.path).map((entry) => entry.sighting);
    return [carriedView(access.path, earlier, result.edited)];
  }

  #add(view: View, result: ToolResult, call: WaitingCall): void {
    const { root } = this.options;
    if (root !== undefined && !isInside(root, view.path)) {
      this.skip('outside-root');
      return;
    }
    const sighting = {
      ...view,
      ...(result.atMs === undefined ? {} : { atMs: result.atMs }),
      callId: result.id,
    };
    this.#order += 1;
    this.#insert({
      sighting,
      order: this.#order,
      place: this.place,
      ordinal: call.ordinal,
      ...(result.message === undefined ? {} : { message: result.message }),
      ...(call.message === undefined ? {} : { callMessage: call.message }),
    });
  }

  #insert(entry: SeenEntry): void {
    push(this.#byCall, entry.sighting.callId, entry);
    push(this.#byPath, entry.sighting.path, entry);
  }

  #remove(entry: SeenEntry): void {
    pull(this.#byCall, entry.sighting.callId, entry);
    pull(this.#byPath, entry.sighting.path, entry);
  }

  #retain(keep: (entry: SeenEntry) => boolean): void {
    this.#replace(this.#all().filter(keep));
  }

  #replace(entries: readonly SeenEntry[]): void {
    this.#byCall.clear();
    this.#byPath.clear();
    for (const entry of entries) this.#insert(entry);
  }

  #all(): SeenEntry[] {
    return [...this.#byCall.values()].flat().sort((a, b) => a.order - b.order);
  }

  readonly #locate = (given: string, cwd: string | undefined): string | undefined => {
    const path = locate(given, cwd, this.options);
    if (path === undefined) this.skip('no-working-directory');
    return path;
  };
}

function push(map: Map<string, SeenEntry[]>, key: string, entry: SeenEntry): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [entry]);
  else list.push(entry);
}

function pull(map: Map<string, SeenEntry[]>, key: string, entry: SeenEntry): void {
  const left = (map.get(key) ?? []).filter((other) => other !== entry);
  if (left.length === 0) map.delete(key);
  else map.set(key, left);
}
