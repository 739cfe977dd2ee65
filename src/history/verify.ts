import { hash } from 'node:crypto';
import { type Coverage, type LineRange, linesCoverage, unionCoverage } from '../model/coverage.ts';
import { type Fingerprint, type Stamp, sameFingerprint } from '../model/fingerprint.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import { decodeText } from '../text/decode.ts';
import { lineCount, splitLines, toLf } from '../text/lines.ts';
import type { HistorySighting, ShownText, TranscriptView } from './history-sighting.ts';

/**
 * A text that is compared with many shown texts. Keeps its lines, so that it is split only once.
 */
export class ComparedText {
  readonly text: string;
  readonly totalLines: number;
  /** Lines with their endings; split on first use. */
  #lines: readonly string[] | undefined;
  /** The whole text and its size, kept because most views show the whole text. */
  readonly #whole: SizedText;

  constructor(text: string) {
    this.text = text;
    this.totalLines = lineCount(text);
    this.#whole = sizedText(text);
  }

  /**
   * The lines of this text that a view showed. Line endings and a final newline may differ, because
   * reads do not show them.
   */
  rangesShown(view: Pick<TranscriptView, 'shown'>): readonly LineRange[] {
    return (view.shown ?? []).flatMap((shown) => {
      const range = this.#rangeOf(shown);
      if (range === undefined) return [];
      const same = isShown(shown, this.#sized(range));
      return same ? [range] : [];
    });
  }

  /** The lines of a range, with their endings. */
  slice({ from, to }: LineRange): string {
    if (from === 1 && to === this.totalLines) return this.text;
    this.#lines ??= splitLines(this.text);
    return this.#lines.slice(from - 1, to).join('');
  }

  #sized(range: LineRange): SizedText {
    const isWhole = range.from === 1 && range.to === this.totalLines;
    return isWhole ? this.#whole : sizedText(this.slice(range));
  }

  /**
   * The line range of a shown text in this text; undefined if this text is too short. `shown.to`
   * may be one higher than the number of lines, because some hosts count an empty line after a
   * final newline.
   */
  #rangeOf(shown: ShownText): LineRange | undefined {
    const { totalLines } = this;
    const from = shown.from < 0 ? totalLines + 1 + shown.from : shown.from;
    const to = shown.to < 0 ? totalLines + 1 + shown.to : shown.to;
    if (from < 1 || to < from || to > totalLines + 1) return undefined;
    return { from, to: Math.min(to, totalLines) };
  }
}

/** A text and its size in bytes. */
interface SizedText {
  readonly text: string;
  readonly size: number;
}

function sizedText(text: string): SizedText {
  return { text, size: Buffer.byteLength(text) };
}

/**
 * True if the text has the hash of the shown text. Also tries the text with LF endings and without
 * the final newline. Compares sizes first, which saves most hashes.
 */
function isShown(shown: ShownText, { text, size }: SizedText): boolean {
  if (size === shown.size) return hash('sha256', text) === shown.sha256;
  if (shown.size > size) return false;
  const isUnended = size - 1 === shown.size && text.endsWith('\n');
  if (isUnended && hash('sha256', text.slice(0, -1)) === shown.sha256) return true;
  const lf = toLf(text);
  // If the text contains `\r\r\n`, CRLF remains after the conversion. Then do not compare: the
  // shown text could be a different one.
  if (lf.length === text.length || lf.includes('\r\n')) return false;
  const bare = text.endsWith('\r\n') ? [text.slice(0, -2)] : [];
  return [lf, ...bare].some((other) => isShown(shown, sizedText(other)));
}

/** A file as it is on the disk now. */
interface DiskFile {
  /** The key that identifies the file in the result. Default: the path in the transcript. */
  readonly key?: string;
  readonly fingerprint: Fingerprint;
  /**
   * The revision of the bytes on disk, computed with the secret key of the state folder. If it is
   * absent, a revision in the transcript cannot confirm a view.
   */
  readonly revision?: string;
  readonly totalLines: number;
  /**
   * The file's content. If it is absent, only revisions and hashes of the whole file can be
   * compared.
   */
  readonly bytes?: Uint8Array;
  readonly stamp?: Stamp;
  readonly racy?: boolean;
}

/**
 * Combines the views of one file in a transcript into a sighting (what the session has read of the
 * file). Only views that match the file on disk count. If none matches, the sighting covers all
 * views but is marked as unverified, and never allows an overwrite. Undefined if no lines were
 * shown.
 */
export function joinSightings(history: readonly HistorySighting[], disk: DiskFile): Sighting | undefined {
  const compared = comparedOf(disk);
  const confirmed = history.flatMap((sighting) => confirm(sighting, disk, compared));
  const { totalLines } = disk;
  if (confirmed.length > 0) {
    const coverage = union(confirmed, totalLines);
    return sightingOf(history, disk, {
      coverage,
      flags: {
        ...NO_FLAGS,
        clamped: taints('clamped', confirmed, coverage, totalLines),
        redacted: taints('redacted', confirmed, coverage, totalLines),
      },
    });
  }
  const shown = history.filter(({ coverage }) => coverage.kind !== 'none');
  if (shown.length === 0) return undefined;
  const flags = {
    ...NO_FLAGS,
    unverified: true,
    clamped: shown.some((sighting) => sighting.clamped),
    redacted: shown.some((sighting) => sighting.redacted),
  };
  return sightingOf(history, disk, { coverage: union(shown, totalLines), flags });
}

interface Confirmed {
  readonly coverage: Coverage;
  readonly clamped: boolean;
  readonly redacted: boolean;
}

/**
 * Compares a view with the file on disk; empty if they differ. Equal hashes prove that the text was
 * neither cut nor masked, so `clamped` and `redacted` become false. An equal revision does not
 * prove this, so both flags stay.
 */
function confirm(sighting: HistorySighting, disk: DiskFile, compared: ComparedText | undefined): Confirmed[] {
  const { fingerprint, revision, coverage, clamped, redacted } = sighting;
  const { totalLines } = disk;
  const clean = { clamped: false, redacted: false };
  if (fingerprint !== undefined && sameFingerprint(fingerprint, disk.fingerprint))
    return [{ coverage: linesCoverage([{ from: 1, to: totalLines }], totalLines), ...clean }];
  const ranges = compared === undefined ? [] : compared.rangesShown(sighting);
  if (ranges.length > 0) return [{ coverage: linesCoverage(ranges, totalLines), ...clean }];
  if (revision === undefined || revision !== disk.revision) return [];
  return coverage.kind === 'none' ? [] : [{ coverage: bounded(coverage, totalLines), clamped, redacted }];
}

function comparedOf(disk: DiskFile): ComparedText | undefined {
  const text = disk.bytes === undefined ? undefined : decodeText(disk.bytes)?.text;
  return text === undefined ? undefined : new ComparedText(text);
}

function sightingOf(
  history: readonly HistorySighting[],
  disk: DiskFile,
  found: Pick<Sighting, 'coverage' | 'flags'>,
): Sighting {
  const { unverified } = found.flags;
  const times = history.map((sighting) => sighting.atMs ?? 0);
  return {
    key: disk.key ?? history[0]?.path ?? '',
    fingerprint: unverified ? undefined : disk.fingerprint,
    stamp: unverified ? undefined : disk.stamp,
    racy: disk.racy ?? disk.stamp === undefined,
    ...found,
    totalLines: disk.totalLines,
    how: history.every(({ how }) => how === 'search') ? 'output' : 'history',
    atMs: Math.max(0, ...times),
  };
}

function union(views: readonly { readonly coverage: Coverage }[], totalLines: number): Coverage {
  return views
    .map((view) => bounded(view.coverage, totalLines))
    .reduce((sum, coverage) => unionCoverage(sum, coverage, totalLines));
}

/**
 * True if the combined views must get this flag, because some lines were shown only by views that
 * have it.
 */
function taints(
  flag: 'clamped' | 'redacted',
  views: readonly Confirmed[],
  coverage: Coverage,
  totalLines: number,
): boolean {
  const clean = views.filter((view) => !view[flag]);
  if (clean.length === views.length) return false;
  return clean.length === 0 || JSON.stringify(union(clean, totalLines)) !== JSON.stringify(coverage);
}

/** Limits coverage to existing lines; some hosts number an empty line after a final newline. */
function bounded(coverage: Coverage, totalLines: number): Coverage {
  if (coverage.kind !== 'lines') return coverage;
  const ranges = coverage.ranges.map(({ from, to }): LineRange => ({ from, to: Math.min(to, totalLines) }));
  return linesCoverage(ranges, totalLines);
}
