import type { State } from '../../src/model/delta.ts';
import type { Entry } from '../../src/model/entry.ts';

/** A file whose bytes have this hash, as the state before or after a change. */
export const fileState = (sha256: string, size = 10): State => ({
  kind: 'file',
  fingerprint: { sha256, size },
  mode: 0o644,
  kept: true,
});

/** An entry of the journal; by default a change by session `a` in `/w`. */
export function entry(fields: Partial<Entry>): Entry {
  return { seq: 1, hash: '', kind: 'change', atMs: 0, session: 'a', root: '/w', ...fields };
}

/** A change of one file, from the first hash to the second. */
export function changed(path: string, sides: readonly [string, string], fields: Partial<Entry> = {}): Entry {
  const [before, after] = sides;
  const delta = { key: `/w/${path}`, relative: path, before: fileState(before), after: fileState(after) };
  return entry({ path, deltas: [delta], ...fields });
}
