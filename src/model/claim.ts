import type { LineRange } from './coverage.ts';
import type { Fingerprint } from './fingerprint.ts';

/** A session's recent change of a file. Other sessions are told of it while its turn is open. */
export interface Claim {
  readonly session: string;
  /** The program that the session belongs to, if it is known. */
  readonly client?: string;
  readonly turn?: string;
  /** Canonical path of the file. */
  readonly key: string;
  /** Canonical root of the workspace in which the file was changed. */
  readonly root: string;
  /** Path relative to the root. */
  readonly path: string;
  /** When the session first changed the file in this turn. */
  readonly sinceMs: number;
  /** When the session last changed the file. */
  readonly atMs: number;
  /** Expiry time, unless the turn ends earlier. */
  readonly untilMs: number;
  /**
   * Fingerprint of the file before the session's first change in this turn (`before`), and after
   * its last change (`after`). Absent if there was no file at that time.
   */
  readonly before?: Fingerprint;
  readonly after?: Fingerprint;
}

/** A claim as it is reported to another session. */
export interface ToldClaim extends Pick<Claim, 'session' | 'client' | 'turn' | 'atMs' | 'path'> {
  /** Milliseconds from `atMs` to this report. */
  readonly agoMs: number;
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
