import type { ShownText } from './history-sighting.ts';

/** What a call will have shown if it succeeds. Plain JSON without contents: it waits for its result, perhaps in a snapshot. */
export type Access = ReadAccess | WriteAccess | EditAccess | SearchAccess;

export interface ReadAccess {
  readonly kind: 'read';
  /** Absolute. */
  readonly path: string;
  /** As the call wrote it; receipts repeat it. */
  readonly given: string;
  /** First line asked for; negative: counted from the end. Absent: the beginning. */
  readonly from?: number;
  /** Last line asked for. Absent: the end, or wherever the tool stops. */
  readonly to?: number;
  /** `auto`: numbered if it looks so. `receipt`: nothing counts without a receipt of ours. */
  readonly body: 'numbered' | 'raw' | 'auto' | 'receipt';
  /** The standard output of a command. */
  readonly shell?: true;
}

export interface WriteAccess {
  readonly kind: 'write';
  readonly path: string;
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

/** Was the call for some of the file only? */
export function isRanged(access: ReadAccess): boolean {
  return (access.from !== undefined && access.from !== 1) || access.to !== undefined;
}
