import { equalRuns } from '../myers.ts';

/** Collapses every run of spaces and tabs to one space, except inside string literals. */
export function collapsed(line: string): string {
  return pieces(line)
    .map(({ text, blank }) => (blank ? ' ' : text))
    .join('');
}

interface Piece {
  readonly text: string;
  /** True for white space outside string literals. */
  readonly blank: boolean;
}

/**
 * Matches whole string literals, runs of white space, words, and other single characters. An unclosed quote extends to
 * the end.
 */
const PIECE =
  /"(?:\\.|[^"\\])*(?:"|$)|'(?:\\.|[^'\\])*(?:'|$)|`(?:\\.|[^`\\])*(?:`|$)|[ \t]+|[\p{L}\p{N}_]+|./gu;

function pieces(line: string): Piece[] {
  return (line.match(PIECE) ?? []).map((text) => ({ text, blank: /^[ \t]+$/.test(text) }));
}

/** The three forms of a line that a spacing correction needs. */
export interface SpacedLine {
  /** The line in the model's anchor. */
  readonly written: string;
  /** The line in the file. */
  readonly there: string;
  /** The line in the model's new text. */
  readonly wanted: string;
}

/**
 * The wanted line with the file's spacing wherever anchor and wanted line agree. If the model only doubled spaces,
 * those between its new words become single.
 */
export function respaced({ written, there, wanted }: SpacedLine): string {
  if (written === there) return wanted;
  const from = pieces(written);
  const file = pieces(there);
  const to = pieces(wanted);
  const plain = (piece: Piece): string => (piece.blank ? ' ' : piece.text);
  const runs = equalRuns(from.map(plain), to.map(plain)) ?? [];
  const kept = new Map<number, string>();
  for (const run of runs)
    for (let i = 0; i < run.length; i += 1) kept.set(run.after + i, file[run.before + i]?.text ?? '');
  const single = onlyWidens({ written, there });
  return to.map((piece, i) => kept.get(i) ?? (piece.blank && single ? ' ' : piece.text)).join('');
}

/** Whether the model's runs of white space differ from the file's single spaces only by being longer. */
export function onlyWidens({ written, there }: Pick<SpacedLine, 'written' | 'there'>): boolean {
  const file = pieces(there);
  return pieces(written).every((piece, i) => {
    if (!piece.blank || piece.text === file[i]?.text) return true;
    return file[i]?.text === ' ' && piece.text.length > 1;
  });
}
