import type { State } from '../../src/model/delta.ts';
import type { ChangeEntry, EntryKind, EntryOf } from '../../src/model/entry.ts';

/** A file whose bytes have this hash, as the state before or after a change. */
export const fileState = (sha256: string, size = 10): State => ({
  kind: 'file',
  fingerprint: { sha256, size },
  mode: 0o644,
  kept: true,
});

/** An entry of the journal, by default by session `a` in `/w`. */
export function entry<K extends EntryKind>(kind: K, fields: Partial<EntryOf<K>>): EntryOf<K> {
  // The cast is safe: the caller gives the fields that only this kind has.
  return { seq: 1, hash: '', atMs: 0, session: 'a', root: '/w', ...fields, kind } as unknown as EntryOf<K>;
}

/** A change of one file, from the first hash to the second. */
export function changed(
  path: string,
  sides: readonly [string, string],
  fields: Partial<ChangeEntry> = {},
): ChangeEntry {
  const [before, after] = sides;
  const delta = { key: `/w/${path}`, relative: path, before: fileState(before), after: fileState(after) };
  return entry('change', { path, change: 'c', deltas: [delta], ...fields });
}
