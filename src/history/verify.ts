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
  /** All of the text in the ways it may have been shown; most views are of all of it. */
  #whole: readonly Candidate[] | undefined;

  constructor(text: string) {
    this.text = text;
    this.totalLines = lineCount(text);
  }

  /** The lines of this text that a view showed exactly as they are here. Line endings and a final newline may differ: reads do not show them. */
  rangesShown(view: Pick<View, 'shown'>): readonly LineRange[] {
    return (view.shown ?? []).flatMap((shown) => {
      const range = this.#rangeOf(shown);
      return range !== undefined && isAmong(shown, this.#candidates(range)) ? [range] : [];
    });
  }

  /** Lines with their endings. */
  slice({ from, to }: LineRange): string {
    if (from === 1 && to === this.totalLines) return this.text;
    this.#lines ??= splitLines(this.text);
    return this.#lines.slice(from - 1, to).join('');
  }

  #candidates(range: LineRange): readonly Candidate[] {
    if (range.from !== 1 || range.to !== this.totalLines) return candidatesFor(this.slice(range));
    this.#whole ??= candidatesFor(this.text);
    return this.#whole;
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

/** One way in which a text may have been shown, and its sizes. */
interface Candidate {
  readonly text: string;
  readonly size: number;
  /** As JSON writes it, without the quotes; made when first asked for. */
  json?: { readonly text: string; readonly size: number };
}

/** As it is, and with the line endings and without the final newline that reads do not show. */
function candidatesFor(text: string): readonly Candidate[] {
  const unix = toLf(text);
  const texts = new Set([text, unix, text.replace(/\r?\n$/, ''), unix.replace(/\n$/, '')]);
  return [...texts].map((candidate) => ({ text: candidate, size: Buffer.byteLength(candidate) }));
}

/** The size rules out most candidates before anything is hashed. */
function isAmong(shown: ShownText, candidates: readonly Candidate[]): boolean {
  return candidates.some((candidate) => {
    const { text, size } = shown.form === 'json' ? jsonOf(candidate) : candidate;
    return size === shown.size && hash('sha256', text) === shown.sha256;
  });
}

function jsonOf(candidate: Candidate): { readonly text: string; readonly size: number } {
  if (candidate.json === undefined) {
    const text = JSON.stringify(candidate.text).slice(1, -1);
    candidate.json = { text, size: Buffer.byteLength(text) };
  }
  return candidate.json;
}
