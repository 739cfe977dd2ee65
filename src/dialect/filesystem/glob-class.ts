const NAMED: Readonly<Record<string, RegExp>> = {
  alnum: /[\p{L}\p{Nl}\p{Nd}]/u,
  alpha: /[\p{L}\p{Nl}]/u,
  ascii: /[\0-\x7f]/,
  blank: /[\p{Zs}\t]/u,
  cntrl: /\p{Cc}/u,
  digit: /\p{Nd}/u,
  graph: /[^\p{Z}\p{C}]/u,
  lower: /\p{Ll}/u,
  print: /\P{C}/u,
  punct: /\p{P}/u,
  space: /[\p{Z}\t\r\n\v\f]/u,
  upper: /\p{Lu}/u,
  word: /[\p{L}\p{Nl}\p{Nd}\p{Pc}]/u,
  xdigit: /[A-Fa-f0-9]/,
};

export interface CharClass {
  readonly has: (char: string) => boolean;
  /** The first place after it. */
  readonly next: number;
}

/** The class `[…]` that begins at a place: characters, ranges, named classes; undefined if nothing closes it. */
export function classAt(chars: readonly string[], open: number): CharClass | undefined {
  const negated = chars[open + 1] === '!' || chars[open + 1] === '^';
  const first = open + (negated ? 2 : 1);
  const tests: ((char: string) => boolean)[] = [];
  for (let at = first; at < chars.length; ) {
    if (chars[at] === ']' && at > first) {
      const has = (char: string): boolean => tests.some((test) => test(char)) !== negated;
      return { has, next: at + 1 };
    }
    const { test, next } = memberAt(chars, at);
    tests.push(test);
    at = next;
  }
  return undefined;
}

function memberAt(chars: readonly string[], at: number): { test: (char: string) => boolean; next: number } {
  const named = chars[at] === '[' && chars[at + 1] === ':' ? nameAt(chars, at + 2) : undefined;
  const known = named === undefined ? undefined : NAMED[named];
  if (known !== undefined && named !== undefined)
    return { test: (char) => known.test(char), next: at + named.length + 4 };
  const low = charAt(chars, at);
  if (chars[low.next] !== '-' || (chars[low.next + 1] ?? ']') === ']')
    return { test: (char) => char === low.char, next: low.next };
  const high = charAt(chars, low.next + 1);
  const [least, most] = [low.char.codePointAt(0) ?? 0, high.char.codePointAt(0) ?? 0];
  return {
    test: (char) => {
      const code = char.codePointAt(0) ?? 0;
      return code >= least && code <= most;
    },
    next: high.next,
  };
}

function charAt(chars: readonly string[], at: number): { readonly char: string; readonly next: number } {
  const following = chars[at + 1];
  if (chars[at] === '\\' && following !== undefined) return { char: following, next: at + 2 };
  return { char: chars[at] ?? '', next: at + 1 };
}

/** The name in `[:name:]`, from its first letter. */
function nameAt(chars: readonly string[], at: number): string | undefined {
  const end = chars.indexOf(':', at);
  return end > at && chars[end + 1] === ']' ? chars.slice(at, end).join('') : undefined;
}
