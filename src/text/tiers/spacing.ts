import { equalRuns } from '../myers.ts';

/** A line with every run of spaces and tabs as one space, but inside string literals as it is. */
export function collapsed(line: string): string {
  return pieces(line)
    .map(({ text, blank }) => (blank ? ' ' : text))
    .join('');
}

interface Piece {
  readonly text: string;
  /** White space outside of string literals. */
  readonly blank: boolean;
}

/** String literals whole, white space in runs, words, and everything else by character. An open quote runs to the end. */
const PIECE =
  /"(?:\\.|[^"\\])*(?:"|$)|'(?:\\.|[^'\\])*(?:'|$)|`(?:\\.|[^`\\])*(?:`|$)|[ \t]+|[\p{L}\p{N}_]+|./gu;

function pieces(line: string): Piece[] {
  return (line.match(PIECE) ?? []).map((text) => ({ text, blank: /^[ \t]+$/.test(text) }));
}

/** A line in the three forms that a change of its spacing needs. */
export interface SpacedLine {
  /** As the model wrote it in the anchor. */
  readonly written: string;
  /** As it stands in the file. */
  readonly there: string;
  /** What the model wants there. */
  readonly wanted: string;
}

/**
 * The wanted line with the file's own spacing wherever the anchor and the wanted line are the same. Where the model only
 * doubled spaces, those of its new words become single.
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

/** Whether the model's runs of white space differ from single spaces of the file only by being longer. */
export function onlyWidens({ written, there }: Pick<SpacedLine, 'written' | 'there'>): boolean {
  const file = pieces(there);
  return pieces(written).every((piece, i) => {
    if (!piece.blank || piece.text === file[i]?.text) return true;
    return file[i]?.text === ' ' && piece.text.length > 1;
  });
}
