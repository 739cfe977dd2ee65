import type { Effect, Entry, Side } from '../model/entry.ts';
import { sameSide } from './side.ts';
import { takenBackBy } from './undo-history.ts';

/**
 * Changes, oldest first, without those that were wholly taken back before anything else happened around their paths, and
 * without what took them back: going back through them would move things to and fro for nothing.
 */
export function withoutIdlePairs(changes: readonly Entry[]): readonly Entry[] {
  const left: Entry[] = [];
  for (const entry of changes) {
    const undone = new Set(takenBackBy(entry).changes);
    const first = undone.size === 0 ? -1 : left.findIndex(({ change }) => undone.has(change ?? ''));
    const since = first === -1 ? [] : left.slice(first);
    const [taken, others] = divide(since, ({ change }) => undone.has(change ?? ''));
    if (first !== -1 && taken.length === undone.size && isIdle([...taken, entry], others))
      left.splice(first, left.length - first, ...others);
    else left.push(entry);
  }
  return left;
}

function divide(entries: readonly Entry[], isFirst: (entry: Entry) => boolean): [Entry[], Entry[]] {
  return [entries.filter(isFirst), entries.filter((entry) => !isFirst(entry))];
}

/** True if the changes leave every path as it was, and the others were nowhere near. */
function isIdle(changes: readonly Entry[], others: readonly Entry[]): boolean {
  const effects = changes.flatMap(effectsOf);
  const first = new Map<string, Side>();
  const last = new Map<string, Side>();
  for (const { key, before, after } of effects) {
    if (!first.has(key)) first.set(key, before);
    last.set(key, after);
  }
  for (const [key, before] of first) {
    const after = last.get(key);
    if (after === undefined || !sameSide(before, after)) return false;
  }
  const around = new Set([...first.keys()].flatMap(withFolders));
  const isNear = ({ key }: Effect): boolean =>
    around.has(key) || withFolders(key).some((each) => first.has(each));
  return !others.flatMap(effectsOf).some(isNear);
}

function effectsOf(entry: Entry): readonly Effect[] {
  return entry.effects ?? [];
}

/** A key and those of the folders around it. */
function withFolders(key: string): string[] {
  const keys = [key];
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1))
    keys.push(key.slice(0, end));
  return keys;
}
