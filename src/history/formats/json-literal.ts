const BACKSLASH = 92;
const LETTER_N = 110;

/** Does a text as JSON writes it end in a newline? After an even number of backslashes the letter means itself. */
export function endsInNewline(literal: Buffer): boolean {
  const last = literal.length - 1;
  return literal[last] === LETTER_N && !isAligned(literal, last);
}

/** How many newlines a text as JSON writes it holds. */
export function newlinesIn(literal: Buffer): number {
  let count = 0;
  for (let at = literal.indexOf(BACKSLASH); at !== -1; at = literal.indexOf(BACKSLASH, at + 2))
    if (literal[at + 1] === LETTER_N) count += 1;
  return count;
}

/**
 * Replaces a text in another, all three as JSON writes them: character by character, so what is true of the texts is
 * true of these, as long as a match does not begin in the middle of an escape. Undefined if there is nothing to replace.
 */
export function replaceLiteral(
  literal: Buffer,
  change: { readonly from: Buffer; readonly to: Buffer; readonly all: boolean },
): { readonly literal: Buffer; readonly count: number } | undefined {
  const { from, to, all } = change;
  if (from.length === 0) return undefined;
  const pieces: Buffer[] = [];
  let count = 0;
  let start = 0;
  for (let at = literal.indexOf(from); at !== -1; at = literal.indexOf(from, at)) {
    if (!isAligned(literal, at)) {
      at += 1;
      continue;
    }
    pieces.push(literal.subarray(start, at), to);
    count += 1;
    at += from.length;
    start = at;
    if (!all) break;
  }
  return count === 0 ? undefined : { literal: Buffer.concat([...pieces, literal.subarray(start)]), count };
}

/** Is what stands here the beginning of a character, and not the rest of an escape? */
function isAligned(literal: Buffer, at: number): boolean {
  let backslashes = 0;
  while (literal[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 0;
}
