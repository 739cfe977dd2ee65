import { hash } from 'node:crypto';
import type { LineRange } from '../model/coverage.ts';
import { lineCount, splitLines, toLf } from '../text/lines.ts';
import type { ShownText } from './history-sighting.ts';
import type { View } from './view.ts';

/** A text to compare with what was shown, any number of times. */
export class ComparedText {
  readonly text: string;
  readonly totalLines: number;
  /** With their endings; made when a part of the text is first asked for. */
  #lines: readonly string[] | undefined;
  /** All of the text; most views are of all of it. */
  readonly #whole: SizedText;

  constructor(text: string) {
    this.text = text;
    this.totalLines = lineCount(text);
    this.#whole = sizedText(text);
  }

  /** The lines of this text that a view showed exactly as they are here. Line endings and a final newline may differ: reads do not show them. */
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

  /** Where lines counted from the end are; one past the last is the empty one that some hosts count after a final newline. */
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

/** As it is, or with the line endings or without the final newline that reads do not show. The size rules most out unhashed. */
function isShown(shown: ShownText, { text, size }: SizedText): boolean {
  if (size === shown.size) return hash('sha256', text) === shown.sha256;
  if (shown.size > size) return false;
  const isUnended = size - 1 === shown.size && text.endsWith('\n');
  if (isUnended && hash('sha256', text.slice(0, -1)) === shown.sha256) return true;
  const lf = toLf(text);
  // A text that still holds such endings could be what was shown, and this one another.
  if (lf.length === text.length || lf.includes('\r\n')) return false;
  const bare = text.endsWith('\r\n') ? [text.slice(0, -2)] : [];
  return [lf, ...bare].some((other) => isShown(shown, sizedText(other)));
}
