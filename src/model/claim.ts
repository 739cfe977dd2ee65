import type { LineRange } from './coverage.ts';
import type { Fingerprint } from './fingerprint.ts';

/**
 * The fields of a journal entry that concern claims. An entry that makes an explicit claim has an
 * `id`. It names one path in its own field `path`, or has a `glob` here. An entry that releases
 * claims, and has neither `path` nor `glob`, ends all claims of its session.
 */
export interface ClaimMark {
  /** Id of an explicit claim. */
  readonly id?: string;
  /** A glob inside the root. Absent if the claim is on one path, which the entry's `path` names. */
  readonly glob?: string;
  readonly reason?: string;
  /** Expiry time of an explicit claim. */
  readonly untilMs?: number;
  /** Set if this entry ends the claim. */
  readonly released?: true;
  /**
   * Set when the session's turn ends. This ends the claims that its changes made; explicit claims
   * stay.
   */
  readonly turnEnded?: true;
  /** On an entry of kind `notice`: the session whose claim the notice reports. */
  readonly of?: string;
}

/**
 * A session's mark on a file that it has changed in this turn, or on a path or glob that it has
 * claimed explicitly.
 */
export interface Claim {
  readonly session: string;
  /** The program that the session belongs to, if it is known. */
  readonly client?: string;
  readonly turn?: string;
  /**
   * Canonical path of the claimed file, or of the claimed folder with everything in it. Absent if `glob` is present.
   */
  readonly key?: string;
  /** Canonical root of the workspace in which the claim was made. */
  readonly root: string;
  /** Path relative to the root; for a glob claim, the glob itself. */
  readonly path: string;
  readonly glob?: string;
  /** `change`: made by changing the file. `hand`: the session claimed it explicitly. */
  readonly by: 'change' | 'hand';
  readonly reason?: string;
  /**
   * For a claim by a change: when the session first changed the file in this turn. For an explicit
   * claim: when it was made.
   */
  readonly sinceMs: number;
  /** When the file was last changed, or when an explicit claim was made. */
  readonly atMs: number;
  /** Expiry time, unless the claim is ended earlier. */
  readonly untilMs: number;
  /**
   * Fingerprint of the file before the session's first change in this turn (`before`), and after
   * its last change (`after`). Absent if there was no file at that time.
   */
  readonly before?: Fingerprint;
  readonly after?: Fingerprint;
  /** Id of an explicit claim. */
  readonly id?: string;
}

/** A claim as it is reported to another session. */
export interface ToldClaim {
  readonly session: string;
  readonly client?: string;
  readonly turn?: string;
  readonly atMs: number;
  /** Milliseconds from `atMs` to this report. */
  readonly agoMs: number;
  /** Path relative to the root of the claim; for an explicit claim, the claimed path or glob. */
  readonly path: string;
  readonly by: Claim['by'];
  readonly reason?: string;
  /**
   * The lines that the claiming session wrote, numbered as in the current file. Absent if they
   * cannot be determined, for example because the file has changed since.
   */
  readonly lines?: readonly LineRange[];
  /**
   * The worktree in which the file was changed, if the session that gets this report uses another
   * one.
   */
  readonly worktree?: string;
}

export interface ClaimOptions {
  /** Shown to other sessions; cut if it is long. */
  readonly reason?: string | undefined;
  /**
   * Duration of the claim, unless it is released earlier. Default: one hour. More than one day is
   * refused.
   */
  readonly forMs?: number | undefined;
}
