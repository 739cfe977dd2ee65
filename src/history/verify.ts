import { hash } from 'node:crypto';
import type { LineRange } from '../model/coverage.ts';
import { lineCount, splitLines, toLf } from '../text/lines.ts';
import type { ShownText } from './history-sighting.ts';
import type { View } from './view.ts';

/** A text that can be compared with shown texts any number of times. */
export class ComparedText {
  readonly text: string;
  readonly totalLines: number;
  /** Lines with their endings; split on first use. */
  #lines: readonly string[] | undefined;
  /** The whole text, because most views show all of it. */
  readonly #whole: SizedText;

  constructor(text: string) {
    this.text = text;
    this.totalLines = lineCount(text);
    this.#whole = sizedText(text);
  }

  /**
   * The lines of this text that a view showed exactly. Line endings and a final newline may differ, because reads do
   * not show them.
   */
  rangesShown(view: Pick<View, 'shown'>): readonly LineRange[] {
    return (view.shown ?? []).flatMap((shown) => {
      const range = this.#rangeOf(shown);
      if (range === undefined) return [];
      const same = isShown(shown, this.#sized(range));
      return same ? [range] : [];
    });
  }

  /** Lines with their endings. */
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
   * Resolves lines counted from the end. One past the last is the empty line that some hosts count after a final
   * newline.
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
 * Whether the text matches the hash, either as it is, with LF endings, or without the final newline. The size excludes
 * most candidates without hashing.
 */
function isShown(shown: ShownText, { text, size }: SizedText): boolean {
  if (size === shown.size) return hash('sha256', text) === shown.sha256;
  if (shown.size > size) return false;
  const isUnended = size - 1 === shown.size && text.endsWith('\n');
  if (isUnended && hash('sha256', text.slice(0, -1)) === shown.sha256) return true;
  const lf = toLf(text);
  // If CRLF remains after the conversion (`\r\r\n`), the hash could be that of a different text.
  if (lf.length === text.length || lf.includes('\r\n')) return false;
  const bare = text.endsWith('\r\n') ? [text.slice(0, -2)] : [];
  return [lf, ...bare].some((other) => isShown(shown, sizedText(other)));
}
