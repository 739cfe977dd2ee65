import { hash } from 'node:crypto';
import type { ShownLines } from '../dialect/calls/shown/delivered.ts';
import { type Coverage, linesCoverage, NOTHING, WHOLE } from '../model/coverage.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { defined } from '../model/record.ts';
import { checkShape, mismatchText, objectOf, oneOf, type Shape, TEXT } from '../model/shape.ts';
import type { FormatName } from '../model/transcript.ts';
import { lineCount } from '../text/lines.ts';

/** Lines of a file that a transcript showed. Their text is kept as a hash, for comparison with the disk. */
export interface ShownText {
  /** First and last line, 1-based. Negative numbers count from the end; -1 is the last line. */
  readonly from: number;
  readonly to: number;
  /** Lower-case hex hash of the shown text: UTF-8, with the line endings as shown. */
  readonly sha256: string;
  readonly size: number;
}

/** How the model came to know the lines. */
type HistoryHow = 'read' | 'write' | 'edit' | 'search';

/**
 * Says that the model of this conversation was shown these lines of this file and still has them in its
 * context. It is derived from the transcript alone; `joinSightings` compares it with the disk. Holds no
 * contents.
 */
export interface HistorySighting {
  /**
   * Absolute path. Relative paths are resolved against the working directory of the call, without
   * following links.
   */
  readonly path: string;
  /** The shown lines. `none`: the file was read or edited, but the lines are unknown. */
  readonly coverage: Coverage;
  readonly totalLines?: number;
  /** The revision that a Lookfirst tool returned. It identifies the exact bytes of the file. */
  readonly revision?: string;
  /** Hashes of the shown texts; absent if the transcript does not contain the texts. */
  readonly shown?: readonly ShownText[];
  /** Fingerprint of the whole file, if the transcript contains its exact content. */
  readonly fingerprint?: Fingerprint;
  readonly how: HistoryHow;
  readonly atMs?: number;
  /** At least one line was shown only in part. */
  readonly clamped: boolean;
  /** Parts of the shown text were masked, because they are secrets. */
  readonly redacted: boolean;
  readonly callId: string;
}

/** Options for resolving the paths of a transcript. */
export interface HistoryOptions {
  /** Working directory if the transcript names none. Without either, relative paths are ignored. */
  readonly cwd?: string;
  /** Paths outside this folder are skipped. */
  readonly root?: string;
  /**
   * `exact`: keep paths as written, as in the preset `thread-history`. Default `resolved`: resolve
   * them lexically.
   */
  readonly paths?: 'resolved' | 'exact';
}

export interface HistoryIndexOptions extends HistoryOptions {
  /** Default: detected from the first records. */
  readonly format?: FormatName | undefined;
  /** The accesses that `hasFileBeenRead` counts: `all` includes completed writes (default), `reads` only reads. */
  readonly counts?: 'all' | 'reads' | undefined;
}

const OPTIONS = objectOf({
  cwd: TEXT,
  root: TEXT,
  paths: oneOf('resolved', 'exact'),
  format: TEXT,
  counts: oneOf('all', 'reads'),
} satisfies Record<keyof HistoryIndexOptions, Shape>);

/** Throws MISUSE for invalid options. Ignoring a misspelt option would silently change the answer. */
export function checkHistoryOptions(options: unknown): void {
  const [mismatch] = checkShape(OPTIONS, options);
  if (mismatch !== undefined)
    throw new Fault('MISUSE', mismatchText(mismatch, { noun: 'option', whole: 'the options of a history' }));
}

/** The lines of a file that the model was shown, without the data of the call that showed them. */
export type TranscriptView = Omit<HistorySighting, 'callId' | 'atMs'>;

export function shownView(path: string, lines: ShownLines): TranscriptView {
  const { content, totalLines, revision, clamped = false, redacted = false } = lines;
  const view = bareView(path, {
    coverage: coverageOf(lines),
    clamped,
    redacted,
    ...defined({ totalLines, revision }),
  });
  if (content === undefined) return view;
  const range = lines.ranges?.[0] ?? { from: 1, to: totalLines ?? lineCount(content) };
  const shown = shownText(content, range);
  const { sha256, size } = shown;
  const isWhole = lines.exact === true && view.coverage.kind === 'whole';
  return { ...view, shown: [shown], ...(isWhole ? { fingerprint: { sha256, size } } : {}) };
}

/**
 * Makes a view that says only that the file was read, not which lines. `extra` adds fields or
 * replaces them.
 */
export function bareView(path: string, extra: Partial<TranscriptView>): TranscriptView {
  return { path, coverage: NOTHING, how: 'read', clamped: false, redacted: false, ...extra };
}

/**
 * The coverage of the shown lines; without ranges, the whole file. Nothing if a range counts from
 * the end of the file, because the file's length is not known yet.
 */
function coverageOf({ ranges, totalLines = Number.POSITIVE_INFINITY }: ShownLines): Coverage {
  if (ranges === undefined || totalLines === 0) return WHOLE;
  return ranges.some(({ from, to }) => from < 1 || to < from) ? NOTHING : linesCoverage(ranges, totalLines);
}

/**
 * Hashes the text of some lines. Only the hash is kept, so memory does not grow with the shown
 * text.
 */
export function shownText(text: string, lines: { readonly from: number; readonly to: number }): ShownText {
  return { from: lines.from, to: lines.to, sha256: hash('sha256', text), size: Buffer.byteLength(text) };
}
