/**
 * Expands the braces of a pattern: `{a,b}` and `{1..3}`. Undefined if there are more than `most`
 * results.
 */
export function expandBraces(pattern: string, most: number): readonly string[] | undefined {
  const done: string[] = [];
  const open: { readonly head: string; readonly rest: string }[] = [{ head: '', rest: pattern }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const found = firstBraces(next.rest);
    if (found === undefined) done.push(next.head + next.rest);
    else {
      const { from, to, choices } = found;
      if (done.length + open.length + choices.length > most) return undefined;
      const before = next.head + next.rest.slice(0, from);
      const after = next.rest.slice(to);
      // A choice may contain nested braces; `before` has none left.
      for (const choice of choices.toReversed()) open.push({ head: before, rest: choice + after });
    }
  }
  return done;
}

interface Braces {
  readonly from: number;
  readonly to: number;
  readonly choices: readonly string[];
}

/** The first pair of braces that is closed and contains a comma or a range. */
function firstBraces(text: string): Braces | undefined {
  const closings = closingBraces(text);
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    const end = closings.get(at);
    // As in shells, `${` does not begin braces.
    if (text[at] !== '{' || end === undefined || text[at - 1] === '$') continue;
    const inner = text.slice(at + 1, end);
    const choices = rangeOf(inner) ?? splitChoices(inner);
    if (choices.length > 1) return { from: at, to: end + 1, choices };
  }
  return undefined;
}

/** Maps each opening brace to its closing brace. */
function closingBraces(text: string): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '{') open.push(at);
    else if (text[at] === '}') {
      const from = open.pop();
      if (from !== undefined) closings.set(from, at);
    }
  }
  return closings;
}

function splitChoices(inner: string): string[] {
  const choices: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < inner.length; at += 1) {
    if (inner[at] === '\\') at += 1;
    else if (inner[at] === '{') depth += 1;
    else if (inner[at] === '}') depth -= 1;
    else if (inner[at] === ',' && depth === 0) {
      choices.push(inner.slice(from, at));
      from = at + 1;
    }
  }
  return [...choices, inner.slice(from)];
}

const NUMBERS = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/;
const LETTERS = /^([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d{1,9}))?$/;
/** Limit of the length of a range. */
const MAX_RANGE = 100_000;

function rangeOf(inner: string): string[] | undefined {
  const numbers = NUMBERS.exec(inner);
  const [, first = '', last = '', by] = numbers ?? LETTERS.exec(inner) ?? [];
  if (first === '') return undefined;
  const width = [first, last].some((end) => /^-?0\d/.test(end)) ? Math.max(first.length, last.length) : 0;
  const ends = numbers ? [Number(first), Number(last)] : [first.charCodeAt(0), last.charCodeAt(0)];
  const [start = 0, end = 0] = ends;
  const step = Math.max(Math.abs(Number(by ?? 1)), 1);
  const count = Math.min(Math.floor(Math.abs(end - start) / step) + 1, MAX_RANGE);
  return Array.from({ length: count }, (_, index) => {
    const value = start + Math.sign(end - start) * index * step;
    return numbers ? padded(value, width) : String.fromCharCode(value);
  });
}

function padded(value: number, width: number): string {
  const sign = value < 0 ? '-' : '';
  return sign + String(Math.abs(value)).padStart(width - sign.length, '0');
}
