import { type Coverage, type LineRange, mergeRanges } from './coverage.ts';
import type { Fingerprint, Stamp } from './fingerprint.ts';

/**
 * The way a session learned the bytes of a file. `output`: a search hit, a command's output, or the
 * diff of a dry run. `cure`: the diff of a change, in a refusal, a notice or a command's answer.
 */
export type How = 'read' | 'write' | 'edit' | 'output' | 'cure' | 'listing' | 'history' | 'witness';

/**
 * Properties of the text that a session was shown. Each of them alone forbids an overwrite, even if
 * every line was shown.
 */
export interface SightingFlags {
  /** At least one line was shown only in part. */
  readonly clamped: boolean;
  /** At least one secret value was masked. */
  readonly redacted: boolean;
  /** The content was described, not shown: binary, image, PDF, notebook. */
  readonly notText: boolean;
  /** A transcript shows the content, but no line of it could be confirmed in the file on disk. */
  readonly unverified: boolean;
}

export const NO_FLAGS: SightingFlags = { clamped: false, redacted: false, notText: false, unverified: false };

/** True if none of the flags is set: the lines were shown completely and unmodified. */
export function showsAll(flags: SightingFlags): boolean {
  return !flags.clamped && !flags.redacted && !flags.notText && !flags.unverified;
}

/** A way in which a read showed less than its lines: see `SightingFlags`. */
export type ShownAs = 'cut' | 'masked' | 'described';

/** The ways in which a read showed less than its lines; undefined if it showed them completely. */
export function shownAs({ clamped, redacted, notText }: SightingFlags): readonly ShownAs[] | undefined {
  if (notText) return ['described'];
  const ways = [...(clamped ? ['cut' as const] : []), ...(redacted ? ['masked' as const] : [])];
  return ways.length === 0 ? undefined : ways;
}

/** The reason why the shown text is no longer in the session's context. */
type LostReason = 'evicted' | 'compacted' | 'rewound' | 'forgotten';

/** Lines that were shown together, and the SHA-256 of their bytes, line endings included. */
export interface SeenPage extends LineRange {
  readonly sha256: string;
  /** True if this page was shown before the file got the `stamp` that the sighting records. */
  readonly earlier?: true;
}

/** The coverage of these pages. Never `whole`, because only a fingerprint proves that a file was seen whole. */
export function coverageOfPages(pages: readonly SeenPage[]): Coverage {
  return { kind: 'lines', ranges: mergeRanges(pages.map(({ from, to }) => ({ from, to }))) };
}

/**
 * Records that this session was shown these bytes of this file. `coverage`: the lines in the
 * model's context. `fingerprint` and `stamp`: the version of the file, which is still known after a
 * compaction.
 */
export interface Sighting {
  /** The file's key (canonical path); see `ResolvedPath.key`. */
  readonly key: string;
  /**
   * Fingerprint of the whole file. Undefined for pages of a huge file, and for content that is
   * known only from a transcript.
   */
  readonly fingerprint: Fingerprint | undefined;
  readonly stamp: Stamp | undefined;
  /**
   * True if the stat fields (`stamp`) are so recent that a later write could have the same ones.
   * Equal stamps then prove nothing; hash instead.
   */
  readonly racy: boolean;
  readonly coverage: Coverage;
  readonly totalLines: number | undefined;
  readonly flags: SightingFlags;
  readonly how: How;
  readonly atMs: number;
  /** The pages shown of a huge file that has no fingerprint, each with its hash. */
  readonly pages?: readonly SeenPage[];
  /**
   * Fingerprints of other versions that the session has seen whole since the last compaction, oldest first; only a few
   * are kept.
   */
  readonly seenBefore?: readonly Fingerprint[];
  /**
   * True if another writer has moved lines of the file and the session was not told yet. It then
   * knows its lines, but not their numbers.
   */
  readonly unplaced?: true;
  /**
   * Hash of content that was refused as STALE. The session composed this content without knowing
   * the current bytes, so the same content is refused again until the session reads the whole file.
   */
  readonly refusedContent?: string;
  /** The last change held back under `staleness: confirm`: its hash, and the hash of the file it would have changed. */
  readonly heldBack?: { readonly change: string; readonly bytes: string };
  /**
   * True if this session deleted the file. Recreating it needs no read, because its bytes are kept
   * as a before-image.
   */
  readonly tombstone?: boolean;
  /**
   * The reason why no lines of the file count as shown any more. If `fingerprint` and `stamp` are
   * also undefined, this reason is all that is left of the sighting.
   */
  readonly lost?: LostReason;
}
