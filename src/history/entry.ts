import type { Access } from './access.ts';
import type { HistorySighting } from './history-sighting.ts';

/** A sighting and where in the conversation it stands. Plain JSON. */
export interface SeenEntry {
  readonly sighting: HistorySighting;
  /** Counts up; older entries have lower numbers. */
  readonly order: number;
  /** Position of its result in the conversation; what positions count is the format's business. */
  readonly place: number;
  /** How many calls came before its own. */
  readonly ordinal: number;
  /** The messages that hold its result and its call, where messages have names. */
  readonly message?: string;
  readonly callMessage?: string;
}

/** A call that waits for its result. Plain JSON. */
export interface WaitingCall {
  readonly accesses: readonly Access[];
  readonly ordinal: number;
  readonly place: number;
  readonly message?: string;
  /** Two different calls with this id in one record: a result could belong to either, so it counts for neither. */
  readonly ambiguous?: true;
}
