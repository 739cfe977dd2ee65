const QUOTE = 34;
const BACKSLASH = 92;
/** Longest word that is looked at; nothing that a host names is longer. */
const MAX_WORD = 128;

/** Do these bytes stand at a position? Faster than a string made of them. */
export function standsAt(bytes: Uint8Array, expected: Uint8Array, at: number): boolean {
  // Reading past the end, even once, makes every later look slower.
  if (at < 0 || at + expected.length > bytes.length) return false;
  for (let index = 0; index < expected.length; index += 1)
    if (bytes[at + index] !== expected[index]) return false;
  return true;
}

/** Which of these bytes stand at a position: the first of them that do. */
export function oneStanding(
  bytes: Uint8Array,
  expected: readonly Uint8Array[],
  at: number,
): Uint8Array | undefined {
  for (const one of expected) if (standsAt(bytes, one, at)) return one;
  return undefined;
}

/** Where the string ends that begins at a position: its closing quote, or -1 if it is long. Escapes are not looked at. */
export function endOfWord(bytes: Uint8Array, at: number): number {
  const far = Math.min(at + MAX_WORD, bytes.length);
  for (let end = at; end < far; end += 1) if (bytes[end] === QUOTE) return end;
  return -1;
}

/** Where the string ends that begins at a position, however long: its closing quote, or -1 if there is none before `end`. */
export function endOfString(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at += 1) {
    if (bytes[at] === QUOTE) return at;
    // What follows belongs to the escape, be it a quote or not.
    if (bytes[at] === BACKSLASH) at += 1;
  }
  return -1;
}

/** How far a search looks here before it is left to Node, whose own takes as long to begin. */
const NEAR = 128;

/** Where bytes stand next, from a position on; -1 if nowhere. For what is expected near. */
export function nextOf(bytes: Buffer, expected: Uint8Array, from: number): number {
  const first = expected[0];
  const far = Math.min(from + NEAR, bytes.length);
  for (let at = from; at < far; at += 1) if (bytes[at] === first && standsAt(bytes, expected, at)) return at;
  return far < bytes.length ? bytes.indexOf(expected, far) : -1;
}
