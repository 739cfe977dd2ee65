import type { Access } from './access.ts';
import type { HistorySighting } from './history-sighting.ts';
import type { View } from './view.ts';

/** A view and where in the conversation it stands. Plain JSON. */
export interface SeenEntry {
  readonly view: View;
  readonly callId: string;
  readonly atMs?: number | undefined;
  /** Position of its result in the conversation; what positions count is the format's business. */
  readonly place: number;
  /** How many calls came before its own. */
  readonly ordinal: number;
  /** The messages that hold its result and its call, where messages have names. */
  readonly message?: string | undefined;
  readonly callMessage?: string | undefined;
  /** For what an edit carried on: the calls that showed it. It is gone when one of them is. */
  readonly roots?: readonly string[] | undefined;
}

/** What an edit carried on, and the calls that had shown it. */
export interface Carried {
  readonly view: View;
  readonly roots: readonly string[];
}

/** The calls that showed what some entries hold. */
export function rootsOf(entries: readonly SeenEntry[]): readonly string[] {
  const [first] = entries;
  // Most edits follow one read of the whole file.
  if (first !== undefined && entries.length === 1) return first.roots ?? [first.callId];
  return [...new Set(entries.flatMap(({ roots, callId }) => roots ?? callId))];
}

/** A call that waits for its result. Plain JSON. */
export interface WaitingCall {
  readonly id: string;
  readonly accesses: readonly Access[];
  readonly ordinal: number;
  readonly place: number;
  readonly message?: string;
  /** Two different calls with this id in one record: a result could belong to either, so it counts for neither. */
  readonly ambiguous?: true;
}

/** An entry as the world outside gets it. */
export function sightingOf(entry: SeenEntry): HistorySighting {
  const { view, callId, atMs } = entry;
  if (atMs === undefined) return { callId, ...view };
  const { path, coverage, totalLines, shown, how, clamped, redacted } = view;
  if (
    totalLines === undefined ||
    shown === undefined ||
    view.revision !== undefined ||
    view.fingerprint !== undefined
  )
    return { callId, atMs, ...view };
  // Most are like this one, and written out it takes a tenth of the time.
  return { path, coverage, totalLines, shown, how, atMs, clamped, redacted, callId };
}
