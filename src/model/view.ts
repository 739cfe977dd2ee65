import type { Sighting } from './sighting.ts';

/**
 * One view: what one answer, change or report showed a session of one path. Views are only added.
 * A view also holds what the session knew before of the same bytes, so the newest one is mostly the
 * whole answer.
 */
export interface View {
  /** The number of the row. Undefined until the view is stored. */
  readonly n?: number | undefined;
  readonly sighting: Sighting;
  /**
   * The view counts for calls of this process that arrived at this moment or later: when the answer
   * with it was sent, or when the call arrived that made the change. Undefined: it counts for every
   * call, because another process made it, or its client waits for each answer.
   */
  readonly since?: number | undefined;
}

/** A session lost what it was shown: its context was summarised, or its conversation cut back. */
export interface Mark {
  /** The number of the row. Views with a greater number are newer than the loss. */
  readonly n: number;
  readonly lost: 'compacted' | 'rewound' | 'forgotten';
  /** `stamp`: the session still knows which bytes it saw last. `nothing`: not even that. */
  readonly keeps: 'stamp' | 'nothing';
  /** Only views shown after this time are lost. Absent: all. */
  readonly afterMs?: number;
  /** Only views shown until this time are lost. Absent: all. */
  readonly untilMs?: number;
}

/** The views of one path and the losses of its session, both newest first. */
export interface Seen {
  readonly views: readonly View[];
  readonly marks: readonly Mark[];
}

export const NEVER_SEEN: Seen = { views: [], marks: [] };
