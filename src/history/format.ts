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

/** One form of transcripts. */
export interface Format {
  readonly name: FormatName;
  claim(record: JsonRecord): FormatClaim;
  /**
   * Returns a function that passes the calls and results of each record, in order, to `fold`. It
   * never throws because of the content of a record.
   */
  open(fold: Fold): (record: JsonRecord) => void;
}
