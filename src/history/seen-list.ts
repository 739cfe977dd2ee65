import type { SeenEntry } from './entry.ts';

/** So many that were taken out may stay in the list; it is gone through again only when they are half of it. */
const MAX_GONE = 1000;

/** Entries in the order they came, found by path, by call and by message; taking some out costs what is taken out. */
export class SeenList {
  /** Oldest first. */
  #all: SeenEntry[] = [];
  /** Those of `#all` that were taken out: a list is quicker to fill than a set, and little is ever taken out. */
  readonly #gone = new Set<SeenEntry>();
  /** Made when first asked for. */
  #calls: Set<string> | undefined;
  /** Was nothing ever taken out? */
  #isWhole = true;
  readonly #byPath = new Map<string, SeenEntry[]>();
  /** Made when first asked for: most conversations never take a single result back. They may hold what is gone. */
  #byCall: Map<string, SeenEntry[]> | undefined;
  #byMessage: Map<string, SeenEntry[]> | undefined;

  add(entry: SeenEntry): void {
    this.#all.push(entry);
    this.#calls?.add(entry.callId);
    push(this.#byPath, entry.view.path, entry);
    if (this.#byCall !== undefined) push(this.#byCall, entry.callId, entry);
    if (this.#byMessage !== undefined) addByMessage(this.#byMessage, entry);
  }

  values(): readonly SeenEntry[] {
    if (this.#gone.size > 0) {
      this.#all = this.#all.filter((entry) => !this.#gone.has(entry));
      this.#gone.clear();
    }
    return this.#all;
  }

  ofPath(path: string): readonly SeenEntry[] {
    return this.#byPath.get(path) ?? [];
  }

  /** Did a result of this call show something that was not taken out since? */
  hasCall(id: string): boolean {
    this.#calls ??= new Set(this.values().map((entry) => entry.callId));
    return this.#calls.has(id);
  }

  /** Is what these calls showed, all of which were here once, still here? */
  hasKept(ids: readonly string[]): boolean {
    return this.#isWhole || ids.every((id) => this.hasCall(id));
  }

  removeCall(id: string): void {
    if (this.#byCall === undefined) {
      this.#byCall = new Map();
      for (const entry of this.values()) push(this.#byCall, entry.callId, entry);
    }
    for (const entry of this.#byCall.get(id) ?? []) this.#remove(entry);
    this.#byCall.delete(id);
  }

  /** Those whose call or result is part of a message. */
  removeMessage(name: string): void {
    if (this.#byMessage === undefined) {
      this.#byMessage = new Map();
      for (const entry of this.values()) addByMessage(this.#byMessage, entry);
    }
    for (const entry of this.#byMessage.get(name) ?? []) this.#remove(entry);
    this.#byMessage.delete(name);
  }

  retain(keep: (entry: SeenEntry) => boolean): void {
    this.replace(this.values().filter(keep));
  }

  replace(entries: Iterable<SeenEntry>): void {
    this.#all = [];
    this.#isWhole = false;
    this.#gone.clear();
    this.#calls = undefined;
    this.#byPath.clear();
    this.#byCall = undefined;
    this.#byMessage = undefined;
    for (const entry of entries) this.add(entry);
  }

  #remove(entry: SeenEntry): void {
    if (this.#gone.has(entry)) return;
    this.#gone.add(entry);
    this.#isWhole = false;
    this.#calls?.delete(entry.callId);
    if (this.#gone.size > MAX_GONE && 2 * this.#gone.size > this.#all.length) this.values();
    const { path } = entry.view;
    const left = this.ofPath(path).filter((other) => other !== entry);
    if (left.length === 0) this.#byPath.delete(path);
    else this.#byPath.set(path, left);
  }
}

function addByMessage(map: Map<string, SeenEntry[]>, entry: SeenEntry): void {
  const { message, callMessage } = entry;
  if (message !== undefined) push(map, message, entry);
  if (callMessage !== undefined && callMessage !== message) push(map, callMessage, entry);
}

function push(map: Map<string, SeenEntry[]>, key: string, entry: SeenEntry): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [entry]);
  else list.push(entry);
}
