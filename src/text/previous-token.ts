const MAX_LOOK_BACK = 80;

/** The word or the single character before an offset, white space skipped; empty at the beginning. */
export function previousToken(text: string, offset: number): string {
  const stop = Math.max(0, offset - MAX_LOOK_BACK);
  let end = offset;
  while (end > stop && /\s/.test(text.charAt(end - 1))) end -= 1;
  return touchingWord(text, end) || text.charAt(end - 1);
}

/** The word that ends exactly at an offset, or an empty string. Only the end of a very long word is looked at. */
export function touchingWord(text: string, offset: number): string {
  const stop = Math.max(0, offset - MAX_LOOK_BACK);
  let start = offset;
  while (start > stop && /[\p{L}\p{N}_$]/u.test(text.charAt(start - 1))) start -= 1;
  return text.slice(start, offset);
}
