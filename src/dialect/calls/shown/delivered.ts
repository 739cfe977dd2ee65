import type { LineRange } from '../../../model/coverage.ts';
import type { AskedLines } from '../touch.ts';

/** What a result showed of one file. */
export interface ShownLines {
  readonly path: string;
  /** The lines themselves, where the result has them verbatim; line endings and the final newline may differ. */
  readonly content?: string;
  /** Absent: the whole file. Negative numbers count from the end; a range may reach past it. */
  readonly ranges?: readonly LineRange[];
  /** Shown as an image or another blob: known, but not as lines. */
  readonly clamped?: true;
}

/** Lines that were delivered for lines that were asked for. The text tells how many they are, not the arguments. */
export function delivered(
  path: string,
  asked: readonly AskedLines[] | undefined,
  content: string,
): ShownLines[] {
  const only = asked?.[0];
  if (only === undefined) return [{ path, content }];
  const count = countLines(content);
  if (count === 0) return [];
  const from = only.from < 0 ? -count : only.from;
  return [{ path, content, ranges: [{ from, to: from + count - 1 }] }];
}

function countLines(text: string): number {
  if (text === '') return 0;
  let count = text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
