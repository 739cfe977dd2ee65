import type { SeenEntry } from './entry.ts';

/** Entries in the order they came, found by path, by call and by message; taking some out costs what is taken out. */
export class SeenList {
  /** Oldest first. */
  readonly #all = new Set<SeenEntry>();
  readonly #byPath = new Map<string, SeenEntry[]>();
  /** Made when first asked for: most conversations never take a single result back. They may hold what is gone. */
  #byCall: Map<string, SeenEntry[]> | undefined;
  #byMessage: Map<string, SeenEntry[]> | undefined;

  add(entry: SeenEntry): void {
    this.#all.add(entry);
    push(this.#byPath, entry.view.path, entry);
    if (this.#byCall !== undefined) push(this.#byCall, entry.callId, entry);
    if (this.#byMessage !== undefined) addByMessage(this.#byMessage, entry);
  }

  values(): IterableIterator<SeenEntry> {
    return this.#all.values();
  }

  ofPath(path: string): readonly SeenEntry[] {
    return this.#byPath.get(path) ?? [];
  }

  hasCall(id: string): boolean {
    return this.#calls().has(id);
  }

  removeCall(id: string): void {
    const byCall = this.#calls();
    for (const entry of byCall.get(id) ?? []) this.#remove(entry);
    byCall.delete(id);
  }

  /** Those whose call or result is part of a message. */
  removeMessage(name: string): void {
    if (this.#byMessage === undefined) {
      this.#byMessage = new Map();
      for (const entry of this.#all) addByMessage(this.#byMessage, entry);
    }
    for (const entry of this.#byMessage.get(name) ?? []) this.#remove(entry);
    this.#byMessage.delete(name);
  }

  retain(keep: (entry: SeenEntry) => boolean): void {
    this.replace([...this.#all].filter(keep));
  }

  replace(entries: Iterable<SeenEntry>): void {
    this.#all.clear();
    this.#byPath.clear();
    this.#byCall = undefined;
    this.#byMessage = undefined;
    for (const entry of entries) this.add(entry);
  }

  #calls(): Map<string, SeenEntry[]> {
    if (this.#byCall !== undefined) return this.#byCall;
    this.#byCall = new Map();
    for (const entry of this.#all) push(this.#byCall, entry.callId, entry);
    return this.#byCall;
  }

  #remove(entry: SeenEntry): void {
    if (!this.#all.delete(entry)) return;
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
