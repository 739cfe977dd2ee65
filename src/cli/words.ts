/** `1 file`, `3 files`, `2 entries`. */
export function count(amount: number, word: string): string {
  if (amount === 1) return `1 ${word}`;
  return `${amount} ${word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`}`;
}
