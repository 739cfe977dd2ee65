import type { Coverage } from '../model/coverage.ts';
import type { Fingerprint } from '../model/fingerprint.ts';

/** Text that a transcript showed of a file, kept as a hash so that it can be compared with the disk later. */
export interface ShownText {
  /** First and last line, 1-based; negative numbers count from the end, -1 being the last line. */
  readonly from: number;
  readonly to: number;
  /** Lower-case hex, of the text as UTF-8 with the line endings it was shown with. */
  readonly sha256: string;
  readonly size: number;
}

/** How a view came to be in a conversation. */
type HistoryHow = 'read' | 'write' | 'edit' | 'search';

/**
 * "The model of this conversation was shown these lines of this file, and still has them in its context."
 * Derived from a transcript alone: what is on the disk now is compared by `joinSightings`. Holds no contents.
 */
export interface HistorySighting {
  /** Absolute, resolved lexically against the working directory of that moment; links are not followed. */
  readonly path: string;
  /** `none`: known to have been read or edited, but not which lines. */
  readonly coverage: Coverage;
  readonly totalLines?: number;
  /** The token of our own receipt: proof of the exact bytes. */
  readonly revision?: string;
  /** Absent where the transcript keeps no text. */
  readonly shown?: readonly ShownText[];
  /** Of the whole file, where the transcript holds its exact content and it had to be decoded. */
  readonly fingerprint?: Fingerprint;
  readonly how: HistoryHow;
  readonly atMs?: number;
  /** Lines of which only the beginning was shown. */
  readonly clamped: boolean;
  /** Something was blanked out of what was shown. */
  readonly redacted: boolean;
  readonly callId: string;
}

/** Where paths of a transcript lie. */
export interface HistoryOptions {
  /** Working directory where the transcript itself names none. Without any, relative paths do not count. */
  readonly cwd?: string;
  /** Paths outside of it are left out. */
  readonly root?: string;
  /** `exact` compares paths as they were written (seed document C); default: resolved lexically. */
  readonly paths?: 'resolved' | 'exact';
}
