const MEBIBYTE = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

type LimitName =
  | 'hugeBytes'
  | 'maxEditBytes'
  | 'maxReadLines'
  | 'maxLineChars'
  | 'maxReadMs'
  | 'maxDiffLines'
  | 'lockTimeoutMs'
  | 'sessionIdleMs'
  | 'maxProcesses'
  | 'commandMemoryBytes'
  | 'commandTimeoutMs';

/** Fixed limits, which nobody has a reason to set. */
export const LIMITS: Readonly<Record<LimitName, number>> = {
  /** Files over this size are read in pages. */
  hugeBytes: 8 * MEBIBYTE,
  /** Files over this size are not edited or overwritten. */
  maxEditBytes: 64 * MEBIBYTE,
  /** The most lines that one read shows. */
  maxReadLines: 2000,
  /** The most characters of a line that a read shows. */
  maxLineChars: 2000,
  /** Time after which a read of a huge file, or a search, stops and returns what it has found. */
  maxReadMs: 30_000,
  /** The most lines of a diff in a refusal or notice. */
  maxDiffLines: 120,
  /** Time to wait for another writer before a change is refused as BUSY. */
  lockTimeoutMs: 5000,
  /** Time after which an idle unnamed session is forgotten. */
  sessionIdleMs: 7 * DAY_MS,
  /** Processes that a confined command may have at once. */
  maxProcesses: 512,
  /** Memory that each process of a confined command may use. */
  commandMemoryBytes: 4096 * MEBIBYTE,
  /** Time after which a confined command is stopped, unless its caller sets another. */
  commandTimeoutMs: 120_000,
};
