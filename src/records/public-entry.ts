import { byPath, type Delta } from '../model/delta.ts';
import { type Entry, isChange } from '../model/entry.ts';
import { defined } from '../model/record.ts';

/** The effect of one change on one path. A move has two effects; a batch or a recursive delete has many. */
export interface Effect extends Omit<Delta, 'movedFrom'> {
  /**
   * On the source of a move: the canonical path of the destination. The content of a moved folder
   * moves along and is not listed.
   */
  readonly movedTo?: string;
}

type FieldName<E> = E extends unknown ? keyof E : never;
type FieldValue<E, K> = E extends unknown ? (K extends keyof E ? Exclude<E[K], undefined> : never) : never;

/** A journal entry as programs see it: every kind has some of the fields. */
export type PublicEntry = Pick<Entry, 'seq' | 'kind' | 'atMs' | 'session' | 'root' | 'hash'> & {
  readonly [K in Exclude<FieldName<Entry>, 'deltas'>]?: FieldValue<Entry, K> | undefined;
} & {
  /** The effects of a change, path by path. */
  readonly effects?: readonly Effect[];
};

/** The public form of a journal entry. */
export function publicEntry(entry: Entry): PublicEntry {
  if (!isChange(entry)) return entry;
  const { deltas, ...rest } = entry;
  return { ...rest, effects: effectsOf(deltas) };
}

function effectsOf(deltas: readonly Delta[]): readonly Effect[] {
  return deltas.flatMap((delta): Effect[] => {
    const [source, arrival] = byPath([delta]);
    if (source === undefined || arrival === undefined) return [delta];
    const { movedFrom: _, ...effect } = arrival;
    return [{ ...source, movedTo: delta.key }, effect];
  });
}

/** An entry for programs: the journal's fields, with its time as ISO 8601. */
export function entryData(entry: Entry): object {
  const { seq, atMs, kind, session, root, path, change, hash, ...rest } = publicEntry(entry);
  const at = new Date(atMs).toISOString();
  return { seq, at, atMs, kind, session, root, ...rest, ...defined({ path, change }), hash };
}
