import { type Coverage, type LineRange, mergeRanges } from './coverage.ts';
import type { Fingerprint, Stamp } from './fingerprint.ts';

/** How a session came to know bytes of a file. */
export type How = 'read' | 'write' | 'edit' | 'search' | 'cure' | 'listing' | 'history' | 'witness';

/** Things about a view that keep it from licensing an overwrite, whatever it covered. */
export interface SightingFlags {
  /** Lines of which only the beginning was shown. */
  readonly clamped: boolean;
  /** Something was blanked out of what was shown. */
  readonly redacted: boolean;
  /** Described, not shown: binary, image, PDF, notebook. */
  readonly notText: boolean;
  /** Known from a transcript only and not confirmed against the disk. */
  readonly unverified: boolean;
}

export const NO_FLAGS: SightingFlags = { clamped: false, redacted: false, notText: false, unverified: false };

/** Whether a view showed everything it covered, as it is. */
export function showsAll(flags: SightingFlags): boolean {
  return !flags.clamped && !flags.redacted && !flags.notText && !flags.unverified;
}

/** Why a session no longer has in its context what it was once shown. */
export type LostReason = 'evicted' | 'compacted' | 'rewound' | 'forgotten';

/** Lines that were shown together, and the SHA-256 of their bytes, endings included. */
export interface SeenPage extends LineRange {
  readonly sha256: string;
}

/** The lines of these pages. Never the whole: only a fingerprint proves that. */
export function coverageOfPages(pages: readonly SeenPage[]): Coverage {
  return { kind: 'lines', ranges: mergeRanges(pages.map(({ from, to }) => ({ from, to }))) };
}

/**
 * "This session was shown these bytes of this file."
 * Coverage is what is in the model's context; fingerprint and stamp are the baseline, which survives compaction.
 */
export interface Sighting {
  /** The file's key (canonical path); see ResolvedPath.key. */
  readonly key: string;
  /** Fingerprint of the whole file; undefined for pages of a huge file and for history that cannot be confirmed. */
  readonly fingerprint: Fingerprint | undefined;
  readonly stamp: Stamp | undefined;
  /** The stamp was taken within the file system's clock tick: equal stamps prove nothing, hash instead. */
  readonly racy: boolean;
  readonly coverage: Coverage;
  readonly totalLines: number | undefined;
  readonly flags: SightingFlags;
  readonly how: How;
  readonly atMs: number;
  /** The pages shown of a huge file without a whole fingerprint, each with a hash of its own. */
  readonly pages?: readonly SeenPage[];
  /** Other bytes of this file that the session has seen whole since the last compaction, oldest first; a few at most. */
  readonly seenBefore?: readonly Fingerprint[];
  /** Hash of content refused as STALE: it was written before the change was seen, and is refused again. */
  readonly refusedContent?: string;
  /** The last change held back as stale under `staleness: confirm`: its hash, and that of the bytes it would have met. */
  readonly heldBack?: { readonly change: string; readonly bytes: string };
  /** The file was deleted by this session; recreating it needs nothing, for its bytes are in the journal. */
  readonly tombstone?: boolean;
  /** Coverage was taken away; without a baseline (no fingerprint, no stamp) only this reason is left of the sighting. */
  readonly lost?: LostReason;
}
