import { type Refusal, type Refused, refused } from '../model/verdict.ts';

/** A path that an undo cannot restore, and why. */
export interface BlockedPath {
  readonly key: string;
  readonly refusal: Refusal;
}

/** The refusal of an undo, and the paths that cause it. A partial undo leaves them out. */
export interface Blocked extends Refused {
  readonly blocked: readonly BlockedPath[];
}

/** The outcome of planning or checking an undo. */
export type UndoOutcome<T> = ({ readonly ok: true } & T) | Blocked;

/** The refusal of an undo for the first of the paths that cause it. Undefined without such a path. */
export function blockedBy(blocked: readonly BlockedPath[]): Blocked | undefined {
  const [first] = blocked;
  return first === undefined ? undefined : { ...refused(first.refusal), blocked };
}
