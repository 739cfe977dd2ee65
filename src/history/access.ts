import type { ReadTouch } from '../dialect/calls/touch.ts';
import type { ShownText } from './history-sighting.ts';

/** What a call will have shown if it succeeds. Plain JSON without contents: it waits for its result, perhaps in a snapshot. */
export type Access = ReadAccess | WriteAccess | EditAccess | SearchAccess;

export interface ReadAccess {
  readonly kind: 'read';
  /** Absolute. */
  readonly path: string;
  readonly touch: ReadTouch;
}

export interface WriteAccess {
  readonly kind: 'write';
  readonly path: string;
  /** As the call wrote it; receipts repeat it. */
  readonly given: string;
  readonly lines: number;
  readonly shown: ShownText;
}

export interface EditAccess {
  readonly kind: 'edit';
  readonly path: string;
  readonly given: string;
}

export interface SearchAccess {
  readonly kind: 'search';
  /** What result lines are relative to. */
  readonly base: string;
  /** The one file searched, if the call names one: result lines may then leave its name out. */
  readonly target?: string;
}
