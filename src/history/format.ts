import type { JsonRecord } from '../model/record.ts';
import type { FormatName } from '../model/transcript.ts';
import type { Fold } from './fold.ts';

/** A format's certainty that a record belongs to it. `maybe`: the record could also belong to another format. */
export type FormatClaim = 'sure' | 'maybe' | 'no';

/** The most certain of several claims; `no` if there is none. */
export function strongest(claims: readonly FormatClaim[]): FormatClaim {
  if (claims.includes('sure')) return 'sure';
  return claims.includes('maybe') ? 'maybe' : 'no';
}

export interface Format {
  readonly name: FormatName;
  claim(record: JsonRecord): FormatClaim;
  open(fold: Fold): Reader;
}

/**
 * Passes the calls and results of one transcript, in order, to a `Fold`, which collects what the
 * model has seen. A reader never throws because of the content of a record.
 */
export interface Reader {
  read(record: JsonRecord): void;
  /** The reader's own state, without that of its `Fold`, as plain JSON. */
  state(): unknown;
  restore(state: unknown): void;
}
