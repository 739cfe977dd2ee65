/**
 * The native search needs time pattern × text on periodic input (two minutes for 5 MB of one letter), but only
 * for long patterns: this much of the beginning is searched natively, the rest is compared.
 */
const PREFIX = 64;
/** Characters that false starts may cost before the search that is linear in every case takes over. */
const ALLOWANCE = 16_000_000;

/** Like `text.indexOf(pattern, from)`, but in linear time whatever text and pattern are. */
export function indexOfLinear(text: string, pattern: string, from = 0): number {
  if (pattern.length <= PREFIX) return text.indexOf(pattern, from);
  const prefix = pattern.slice(0, PREFIX);
  let allowance = ALLOWANCE;
  for (let at = text.indexOf(prefix, from); at !== -1; at = text.indexOf(prefix, at + 1)) {
    if (text.startsWith(pattern, at)) return at;
    allowance -= pattern.length;
    if (allowance < 0) return knuthMorrisPratt(text, pattern, at + 1);
  }
  return -1;
}

/** Never goes back in the text: slower than the native search on ordinary input, and never slower than that. */
function knuthMorrisPratt(text: string, pattern: string, from: number): number {
  const borders = bordersOf(pattern);
  let matched = 0;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && pattern.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (pattern.charCodeAt(matched) === unit) matched += 1;
    if (matched === pattern.length) return at - matched + 1;
  }
  return -1;
}

/** For each prefix, the length of its longest proper prefix that also ends it. */
function bordersOf(pattern: string): Int32Array {
  const borders = new Int32Array(pattern.length);
  let length = 0;
  for (let at = 1; at < pattern.length; at += 1) {
    const unit = pattern.charCodeAt(at);
    while (length > 0 && pattern.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0;
    if (pattern.charCodeAt(length) === unit) length += 1;
    borders[at] = length;
  }
  return borders;
}
