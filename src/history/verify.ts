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
    this.#whole = new SizedText(text);
  }

  /** The lines of this text that a view showed exactly as they are here. Line endings and a final newline may differ: reads do not show them. */
  rangesShown(view: Pick<View, 'shown'>): readonly LineRange[] {
    return (view.shown ?? []).flatMap((shown) => {
      const range = this.#rangeOf(shown);
      if (range === undefined) return [];
      const same =
        shown.form === 'numbered' ? this.#isNumbered(shown, range) : isShown(shown, this.#sized(range));
      return same ? [range] : [];
    });
  }

  /** Lines with their endings. */
  slice({ from, to }: LineRange): string {
    if (from === 1 && to === this.totalLines) return this.text;
    this.#lines ??= splitLines(this.text);
    return this.#lines.slice(from - 1, to).join('');
  }

  /** Hosts may number the empty line after a final newline as well. */
  #isNumbered(shown: ShownText, range: LineRange): boolean {
    const text = this.slice(range);
    const numbered = splitLines(text)
      .map((line, index) => `${range.from + index}\t${line.replace(/\r?\n$/, '')}`)
      .join('\n');
    const end = range.to === this.totalLines && text.endsWith('\n') ? `\n${range.to + 1}\t` : undefined;
    const forms = end === undefined ? [numbered] : [numbered, numbered + end];
    return forms.some((form) => isShown({ ...shown, form: 'json' }, new SizedText(form)));
  }

  #sized(range: LineRange): SizedText {
    const isWhole = range.from === 1 && range.to === this.totalLines;
    return isWhole ? this.#whole : new SizedText(this.slice(range));
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

/** A text and how long it is, as it is or as JSON writes it. */
class SizedText {
  readonly text: string;
  readonly #size: number;
  #json: string | undefined;
  #jsonSize = 0;

  constructor(text: string) {
    this.text = text;
    this.#size = Buffer.byteLength(text);
  }

  as(form: ShownText['form']): { readonly text: string; readonly size: number } {
    if (form === undefined) return { text: this.text, size: this.#size };
    if (this.#json === undefined) {
      this.#json = JSON.stringify(this.text).slice(1, -1);
      this.#jsonSize = Buffer.byteLength(this.#json);
    }
    return { text: this.#json, size: this.#jsonSize };
  }
}

/** As it is, or with the line endings or without the final newline that reads do not show. The size rules most out unhashed. */
function isShown(shown: ShownText, sized: SizedText): boolean {
  const { text, size } = sized.as(shown.form);
  if (size === shown.size) return hash('sha256', text) === shown.sha256;
  if (shown.size > size) return false;
  const newline = shown.form === undefined ? 1 : 2;
  const isUnended = size - newline === shown.size && sized.text.endsWith('\n');
  if (isUnended && hash('sha256', text.slice(0, -newline)) === shown.sha256) return true;
  const lf = toLf(sized.text);
  // What still holds such endings could be the text that was shown, and this one another.
  if (lf.length === sized.text.length || lf.includes('\r\n')) return false;
  const bare = sized.text.endsWith('\r\n') ? [sized.text.slice(0, -2)] : [];
  return [lf, ...bare].some((other) => isShown(shown, new SizedText(other)));
}
