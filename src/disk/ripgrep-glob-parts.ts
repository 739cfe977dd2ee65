/** One element of a glob for a single name. */
export type Part =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'any-run' }
  | {
      readonly kind: 'class';
      readonly ranges: readonly (readonly [string, string])[];
      readonly out: boolean;
    };

/** Reads a glob without `/` and braces; a string says what is wrong with it. */
export function readParts(glob: string): readonly Part[] | string {
  const chars = Array.from(glob);
  const parts: Part[] = [];
  for (let at = 0; at < chars.length; ) {
    const read = readPart(chars, at);
    if (typeof read === 'string') return read;
    if (read.part.kind !== 'any-run' || parts.at(-1)?.kind !== 'any-run') parts.push(read.part);
    at = read.end;
  }
  return parts;
}

type Read = { readonly part: Part; readonly end: number } | string;

function readPart(chars: readonly string[], at: number): Read {
  const char = chars[at] ?? '';
  switch (char) {
    case '[':
      return readClass(chars, at);
    case '*':
      return { part: { kind: 'any-run' }, end: at + 1 };
    case '?':
      return { part: { kind: 'any' }, end: at + 1 };
    case '\\': {
      const next = chars[at + 1];
      return next === undefined
        ? 'the glob ends in a backslash'
        : { part: { kind: 'char', char: next }, end: at + 2 };
    }
    default:
      return { part: { kind: 'char', char }, end: at + 1 };
  }
}

/** A `]` right after the opening is a member; so is a `-` at either end. */
function readClass(chars: readonly string[], open: number): Read {
  const out = chars[open + 1] === '!' || chars[open + 1] === '^';
  const first = open + (out ? 2 : 1);
  const close = chars.indexOf(']', first + 1);
  if (close < 0) return 'the glob has a [ without ]';
  const ranges: [string, string][] = [];
  for (let at = first; at < close; ) {
    const from = chars[at] ?? '';
    const spans = chars[at + 1] === '-' && at + 2 < close;
    const to = spans ? (chars[at + 2] ?? from) : from;
    if (codeOf(to) < codeOf(from)) return `the glob has a range backwards: ${from}-${to}`;
    ranges.push([from, to]);
    at += spans ? 3 : 1;
  }
  return { part: { kind: 'class', ranges, out }, end: close + 1 };
}

/** Goes back to the last `*` only, so the time is bounded by the product of both lengths, never exponential. */
export function matchesParts(parts: readonly Part[], name: string): boolean {
  let part = 0;
  let at = 0;
  let retry: { part: number; at: number } | undefined;
  while (at < name.length) {
    const char = charAt(name, at);
    const now = parts[part];
    if (now?.kind === 'any-run') {
      retry = { part, at };
      part += 1;
    } else if (now !== undefined && matchesPart(now, char)) {
      part += 1;
      at += char.length;
    } else if (retry !== undefined) {
      retry.at += charAt(name, retry.at).length;
      part = retry.part + 1;
      at = retry.at;
    } else return false;
  }
  return parts.slice(part).every(({ kind }) => kind === 'any-run');
}

function matchesPart(part: Exclude<Part, { kind: 'any-run' }>, char: string): boolean {
  switch (part.kind) {
    case 'any':
      return true;
    case 'char':
      return part.char === char;
    case 'class':
      return (
        part.out !==
        part.ranges.some(([from, to]) => codeOf(from) <= codeOf(char) && codeOf(char) <= codeOf(to))
      );
    default:
      return part satisfies never;
  }
}

/** One character, which may be two units long. */
function charAt(text: string, at: number): string {
  return String.fromCodePoint(text.codePointAt(at) ?? 0);
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
