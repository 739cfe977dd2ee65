import { inversesOf } from '../../src/journal/inverses.ts';
import {
  type Selected,
  selectChanges,
  UndoHistory,
  type UndoTarget,
  undoneBy,
} from '../../src/journal/undo-history.ts';
import type { Delta, State } from '../../src/model/delta.ts';
import type { ChangeEntry, NewChangeEntry, Undone } from '../../src/model/entry.ts';
import { changeEntry, file, ROOT } from './samples.ts';

export const LINK: State = { kind: 'link', target: '../x' };
export const key = (path: string): string => `${ROOT}/${path}`;
export const unkept = (content: string): State => file(content, { kept: false });

/** Entries `c1`, `c2`, … with the given deltas. */
export function history(...changes: readonly (readonly Delta[] | Partial<NewChangeEntry>)[]): ChangeEntry[] {
  return changes.map((given, i) => {
    const more: Partial<NewChangeEntry> = 'length' in given ? { deltas: given as readonly Delta[] } : given;
    return { ...changeEntry(`c${i + 1}`, [], { atMs: 10 * (i + 1), ...more }), seq: i + 1, hash: '' };
  });
}

/** The changes that an undo concerns, without their root, which is always the same here. */
export type Wanted = UndoTarget extends infer T ? (T extends UndoTarget ? Omit<T, 'roots'> : never) : never;

/** The changes that a target selects, as the undo would record them. */
export function undone(entries: readonly ChangeEntry[], target: Wanted): Undone {
  const { known, selection } = selected(entries, target);
  return undoneBy(known, selection);
}

/** The deltas that take back what a target selects, one line each: `path: present state -> restored state`. */
export function inverses(entries: readonly ChangeEntry[], target: Wanted): string[] {
  const { known, selection } = selected(entries, target);
  return lines(known, selection);
}

function selected(
  entries: readonly ChangeEntry[],
  target: Wanted,
): { readonly known: UndoHistory; readonly selection: readonly Selected[] } {
  const known = new UndoHistory(entries);
  return { known, selection: selectChanges(known, { roots: [ROOT], ...target }) };
}

export function lines(known: UndoHistory, selection: readonly Selected[]): string[] {
  const say = (state: State): string => {
    if (state.kind === 'file') return `${state.fingerprint.sha256[0]} ${state.mode.toString(8)}`;
    return state.kind === 'link' ? `=> ${state.target}` : state.kind;
  };
  return inversesOf(known, selection).map(({ relative, before, after, movedFrom }) => {
    const from = movedFrom === undefined ? '' : ` from ${movedFrom.relative}`;
    return `${relative}: ${say(before)} -> ${say(after)}${from}`;
  });
}
