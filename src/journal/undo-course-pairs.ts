import type { Effect, Entry, Side } from '../model/entry.ts';
import { sameSide } from './side.ts';
import { takenBackBy } from './undo-history.ts';

/**
 * Changes, oldest first, without those that were wholly taken back before anything else happened around their paths, and
 * without what took them back: going back through them would move things to and fro for nothing.
 */
export function withoutIdlePairs(changes: readonly Entry[]): readonly Entry[] {
  const left = new Map<string, Entry>();
  const paths = new PathUse();
  for (const entry of changes) {
    const undone = takenBackBy(entry).changes;
    const taken = undone.flatMap((change) => left.get(change) ?? []).sort((a, b) => a.seq - b.seq);
    const isPair = taken.length > 0 && taken.length === undone.length && isIdle([...taken, entry]);
    if (isPair && !paths.isUsedByOthers(taken)) {
      for (const each of taken) {
        left.delete(idOf(each));
        paths.forget(each);
      }
    } else {
      left.set(idOf(entry), entry);
      paths.add(entry);
    }
  }
  return [...left.values()];
}

/** True if the changes leave every path as it was. */
function isIdle(changes: readonly Entry[]): boolean {
  const first = new Map<string, Side>();
  const last = new Map<string, Side>();
  for (const { key, before, after } of changes.flatMap(effectsOf)) {
    if (!first.has(key)) first.set(key, before);
    last.set(key, after);
  }
  return [...last].every(([key, after]) => sameSide(first.get(key) ?? after, after));
}

/** Which changes were at or below a path. */
class PathUse {
  readonly #at = new Map<string, Entry[]>();
  readonly #below = new Map<string, Entry[]>();
  readonly #forgotten = new Set<Entry>();

  add(entry: Entry): void {
    for (const { key } of effectsOf(entry)) {
      addTo(this.#at, key, entry);
      for (const folder of foldersOf(key)) addTo(this.#below, folder, entry);
    }
  }

  forget(entry: Entry): void {
    this.#forgotten.add(entry);
  }

  /** True if, since the first of these changes, another one was at, above or below one of their paths. */
  isUsedByOthers(changes: readonly Entry[]): boolean {
    const own = new Set(changes);
    const start = changes[0]?.seq ?? 0;
    return changes.flatMap(effectsOf).some(({ key }) => {
      const near = [
        this.#at.get(key),
        this.#below.get(key),
        ...foldersOf(key).map((each) => this.#at.get(each)),
      ];
      return near.some((entries) => entries !== undefined && this.#hasOther(entries, own, start));
    });
  }

  #hasOther(entries: Entry[], own: ReadonlySet<Entry>, start: number): boolean {
    // Those forgotten last are the ones most often met again.
    for (let last = entries.at(-1); last !== undefined && this.#forgotten.has(last); last = entries.at(-1))
      entries.pop();
    const other = entries.findLast(
      (entry) => entry.seq < start || !(own.has(entry) || this.#forgotten.has(entry)),
    );
    return other !== undefined && other.seq >= start;
  }
}

function addTo(map: Map<string, Entry[]>, key: string, entry: Entry): void {
  const entries = map.get(key) ?? [];
  map.set(key, entries);
  if (entries.at(-1) !== entry) entries.push(entry);
}

function idOf({ change, seq }: Entry): string {
  return change ?? `${seq}`;
}

function effectsOf(entry: Entry): readonly Effect[] {
  return entry.effects ?? [];
}

/** Keys of the folders around a key. */
function foldersOf(key: string): string[] {
  const folders: string[] = [];
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1))
    folders.push(key.slice(0, end));
  return folders;
}
