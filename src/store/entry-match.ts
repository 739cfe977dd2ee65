import type { NewEntry } from '../model/entry.ts';
import type { EntryFilter } from './store.ts';

/** Every key an entry concerns: the keys its effects touched, and its own key. */
export function entryKeys(entry: NewEntry): ReadonlySet<string> {
  const keys = new Set(entry.effects?.map((effect) => effect.key));
  for (const about of [entry.key, plainKey(entry)]) if (about !== undefined) keys.add(about);
  return keys;
}

/** Root and path joined. On a case-sensitive file system this is the key. */
export function plainKey(entry: Pick<NewEntry, 'root' | 'path'>): string | undefined {
  if (entry.path === undefined) return undefined;
  if (entry.path === '') return entry.root;
  return entry.root.endsWith('/') ? entry.root + entry.path : `${entry.root}/${entry.path}`;
}

/** Whether an entry's content matches a filter. The store applies numbers, order and limit. */
export function matches(entry: NewEntry, filter: EntryFilter): boolean {
  return (
    agrees(filter.session, entry.session) &&
    agrees(filter.root, entry.root) &&
    (filter.near?.some((folder) => isNear(entry.root, folder)) ?? true) &&
    agrees(filter.change, entry.change) &&
    (filter.kinds?.includes(entry.kind) ?? true) &&
    entry.atMs >= (filter.sinceMs ?? -Infinity) &&
    entry.atMs <= (filter.untilMs ?? Infinity) &&
    (filter.key === undefined || entryKeys(entry).has(filter.key)) &&
    (filter.keys?.some((key) => entryKeys(entry).has(key)) ?? true)
  );
}

/** The folder itself and all its parents, up to the root of the file system. */
export function ancestorsOf(folder: string): string[] {
  const parts = folder.split('/');
  const found = parts.map((_, i) => parts.slice(0, i + 1).join('/') || '/');
  // `/` splits into two empty parts.
  return [...new Set(found)];
}

function isNear(root: string, folder: string): boolean {
  return ancestorsOf(folder).includes(root) || root.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function agrees(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted === undefined || wanted === actual;
}
