import type { JsonRecord } from '../model/record.ts';
import type { FormatName } from '../model/transcript.ts';
import type { Fold } from './fold.ts';

/** How sure a format is that a record is one of its own. `maybe`: it could be, and so could another's. */
export type Claim = 'sure' | 'maybe' | 'no';

/** The claim on a list: as sure as its surest member. */
export function strongest(claims: readonly Claim[]): Claim {
  if (claims.includes('sure')) return 'sure';
  return claims.includes('maybe') ? 'maybe' : 'no';
}

/** One shape of transcript. */
export interface Format {
  readonly name: FormatName;
  claim(record: JsonRecord): Claim;
  open(fold: Fold): Reader;
}

/** Reads the records of one transcript, in order, into a fold. Never throws for what a record holds. */
export interface Reader {
  read(record: JsonRecord): void;
  /**
   * Looks at a line of JSON without parsing it and says whether it must be read. Everything unexpected must be; a line
   * that need not be may still move the reader's state on.
   */
  skim?(bytes: Buffer, start: number, end: number): boolean;
  /** What the reader knows beside the fold, as plain JSON. */
  state(): unknown;
  restore(state: unknown): void;
}
