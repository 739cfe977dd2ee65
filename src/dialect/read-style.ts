import type { ReadResult } from '../model/results.ts';
import { numberLines } from '../text/lines.ts';
import type { RenderContext, Rendered } from './render.ts';

/**
 * How a dialect shows a file: its lines, then `foot`. Separate from text, so that lines can also be rendered from
 * bytes.
 */
export interface ReadStyle {
  /**
   * `numbered`: `N<TAB>line`; `padded`: like `numbered`, with right-aligned numbers; `raw`: exactly as in the file;
   * `joined`: like `raw`, without a newline after the last line.
   */
  readonly lines: 'numbered' | 'padded' | 'raw' | 'joined';
  /** The text after the lines, including a newline before it if needed. */
  foot(result: ReadResult, context: RenderContext): string;
  /** The rendering of a file that is not text. */
  other(result: ReadResult, context: RenderContext): Rendered;
}

/** A file's lines and foot as one text. */
export function styledText(result: ReadResult, style: ReadStyle, context: RenderContext): string {
  return linesText(result, style.lines) + style.foot(result, context);
}

function linesText(result: ReadResult, lines: ReadStyle['lines']): string {
  if (lines === 'joined') return result.text.replace(/\n$/, '');
  if (lines === 'raw' || result.to === 0) return result.text;
  const width = lines === 'padded' ? String(result.to).length : 0;
  return numberLines(result.text, result.from, width);
}
