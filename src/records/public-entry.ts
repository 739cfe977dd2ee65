import { byPath, type Delta } from '../model/delta.ts';
import type { Entry } from '../model/entry.ts';
import { defined } from '../model/record.ts';

/** The effect of one change on one path. A move has two effects; a batch or a recursive delete has many. */
export interface Effect extends Omit<Delta, 'movedFrom'> {
  /**
   * On the source of a move: the canonical path of the destination. The content of a moved folder
   * moves along and is not listed.
   */
  readonly movedTo?: string;
}

/** A journal entry as programs see it. */
export interface PublicEntry extends Omit<Entry, 'deltas'> {
  /** The effects of a change, path by path. */
  readonly effects?: readonly Effect[];
}

/** The public form of a journal entry. */
export function publicEntry({ deltas, ...entry }: Entry): PublicEntry {
  return deltas === undefined ? entry : { ...entry, effects: effectsOf(deltas) };
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
