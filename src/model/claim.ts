import type { LineRange } from './coverage.ts';
import type { Fingerprint } from './fingerprint.ts';

/**
 * What an entry says about a claim. A claim by hand has a target; a change claims its files without one. A release without
 * a target ends all claims of its session.
 */
export interface ClaimMark {
  /** Names a claim by hand. */
  readonly id?: string;
  /** A glob inside the root; absent for one path, which the entry's key names. */
  readonly glob?: string;
  readonly reason?: string;
  /** When a claim by hand ends by itself. */
  readonly untilMs?: number;
  /** The claim ends here. */
  readonly released?: true;
  /** Only claims that changes made end: the turn is over. */
  readonly turnEnded?: true;
  /** On a notice: the session whose claim was told. */
  readonly of?: string;
}

/** A session works on a file, or has said that it will. */
export interface Claim {
  readonly session: string;
  /** The program that the session belongs to, if it is known. */
  readonly client?: string;
  readonly turn?: string;
  /** Canonical path of the file, or of the folder with everything in it. Absent if `glob` says what is claimed. */
  readonly key?: string;
  /** Canonical root of the workspace in which it was claimed. */
  readonly root: string;
  /** Relative to the root; for a glob, the glob. */
  readonly path: string;
  readonly glob?: string;
  /** `change`: made by changing the file. `hand`: asked for. */
  readonly by: 'change' | 'hand';
  readonly reason?: string;
  /** When the session first changed the file in this turn, or made the claim. */
  readonly sinceMs: number;
  /** When the file was last changed, or the claim made. */
  readonly atMs: number;
  /** When it ends if nothing ends it before. */
  readonly untilMs: number;
  /** The file before the first and after the last change behind the claim, where it was a file. */
  readonly before?: Fingerprint;
  readonly after?: Fingerprint;
  /** Names a claim by hand. */
  readonly id?: string;
}

/** A claim as another session is told of it. */
export interface ToldClaim {
  readonly session: string;
  readonly client?: string;
  readonly turn?: string;
  readonly atMs: number;
  /** How long ago that was when it was told. */
  readonly agoMs: number;
  /** Relative to its root; for a claim by hand, what was claimed. */
  readonly path: string;
  readonly by: Claim['by'];
  readonly reason?: string;
  /** The lines that the change left, in the file as it is now; absent if they cannot be told. */
  readonly lines?: readonly LineRange[];
  /** The worktree in which the file was changed, if it is another one of the same repository. */
  readonly worktree?: string;
}

export interface ClaimOptions {
  /** Shown to others, bounded. */
  readonly reason?: string | undefined;
  /** How long it lasts unless it is released; default one hour, at most a day. */
  readonly forMs?: number | undefined;
}
