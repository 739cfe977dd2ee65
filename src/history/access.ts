import type { ReadTouch } from '../dialect/calls/touch.ts';
import type { ShownText } from './history-sighting.ts';

/**
 * What a call will show or write if it succeeds. Plain JSON without contents, because it is kept (perhaps in a
 * snapshot) until the result arrives.
 */
export type Access = ReadAccess | WriteAccess | EditAccess | SearchAccess;

export interface ReadAccess {
  readonly kind: 'read';
  /** Absolute path. */
  readonly path: string;
  readonly touch: ReadTouch;
}

export interface WriteAccess {
  readonly kind: 'write';
  readonly path: string;
  /** The path as the call wrote it; receipts repeat it. */
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
  /** Base folder of the paths in result lines. */
  readonly base: string;
  /** The searched file, if the call names a single file. Result lines may then omit its name. */
  readonly target?: string;
}
