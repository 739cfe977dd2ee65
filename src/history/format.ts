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

/**
 * One form of transcripts. `State` is what the format must remember between two records. It holds
 * only values of JSON, maps and sets, so that a snapshot can keep it.
 */
export interface Format<State = unknown> {
  readonly name: FormatName;
  claim(record: JsonRecord): FormatClaim;
  /** The state before the first record. */
  start(): State;
  /**
   * Passes the calls and results of a record to `fold`, and updates `state`. Never throws because of
   * the content of a record.
   */
  read(record: JsonRecord, fold: Fold, state: State): void;
  /**
   * True if the record at this position is still part of the conversation. Absent if conversations
   * of this format have no branches.
   */
  holds?(place: number, state: State): boolean;
}

/** Reads the records of one transcript, in order, into a `Fold`. */
export class Reader {
  readonly state: unknown;
  readonly #format: Format;
  readonly #fold: Fold;

  constructor(format: Format, fold: Fold, state: unknown = format.start()) {
    this.#format = format;
    this.#fold = fold;
    this.state = state;
    if (format.holds !== undefined) fold.sees = ({ place }) => format.holds?.(place, state) ?? true;
  }

  read(record: JsonRecord): void {
    this.#format.read(record, this.#fold, this.state);
  }
}
