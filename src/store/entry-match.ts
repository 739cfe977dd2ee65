import type { NewEntry, PendingChange } from '../model/entry.ts';
import type { EntryFilter, PendingFilter } from './store.ts';

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

/** Implements {@link PendingFilter}, for stores that filter in this process. */
export function matchesPending(pending: PendingChange, { change, owner, keys }: PendingFilter): boolean {
  if (change !== undefined && pending.change !== change) return false;
  if (owner !== undefined && pending.owner !== owner) return false;
  if (keys === undefined) return true;
  return concernedKeys(pending).some((one) => keys.some((other) => overlaps(one, other)));
}

/**
 * The keys whose next writer must check this change first: the keys its process locked, or, without a lock, those it
 * will write.
 */
function concernedKeys({ locked = [], foreign, entry }: PendingChange): readonly string[] {
  return foreign?.hold === 'none' ? (entry.effects ?? []).map(({ key }) => key) : locked;
}

/** True if the paths are equal or one is inside the other. */
function overlaps(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
