import type { Access } from './accesses-of.ts';
import type { HistorySighting, TranscriptView } from './history-sighting.ts';

/**
 * Lines of a file that the model was shown (a view), and the view's position in the conversation.
 */
export interface SeenEntry {
  readonly view: TranscriptView;
  readonly callId: string;
  readonly atMs?: number | undefined;
  /** Position in the conversation of the result that showed the view. Each format defines the unit. */
  readonly place: number;
  /** Number of calls before the call that showed the view. */
  readonly ordinal: number;
  /** Id of the message with the result; absent if messages have no ids. */
  readonly message?: string | undefined;
  /** Id of the message with the call; absent if messages have no ids. */
  readonly callMessage?: string | undefined;
  /**
   * For a view computed from earlier views and an edit: the calls that showed its lines. The view
   * is invalid if one of these calls is removed.
   */
  readonly roots?: readonly string[] | undefined;
}

/** A view computed from earlier views and an edit, with the calls that showed its lines. */
export interface Carried {
  readonly view: TranscriptView;
  readonly roots: readonly string[];
}

/** Ids of the calls that showed the lines of these entries. */
export function rootsOf(entries: readonly SeenEntry[]): readonly string[] {
  return [...new Set(entries.flatMap(({ roots, callId }) => roots ?? callId))];
}

/** A call that waits for its result. */
export interface WaitingCall {
  readonly id: string;
  readonly accesses: readonly Access[];
  readonly ordinal: number;
  readonly place: number;
  readonly message?: string;
  /** Two different calls with this id are in one record. Their result could belong to either, so it is ignored. */
  readonly ambiguous?: true;
}

/** Converts an entry to its public form. */
export function sightingOf({ view, callId, atMs }: SeenEntry): HistorySighting {
  return { ...view, callId, ...(atMs === undefined ? {} : { atMs }) };
}
