const MAX_GLOB_CHARS = 4000;
const MAX_ALTERNATIVES = 256;

/** A glob that selects files below a folder. */
export interface FileGlob {
  /** Arguments that let ripgrep leave out what does not match, or most of it. */
  readonly args: readonly string[];
  /** Folders that every match lies in, from the searched one down; named, not guessed. */
  readonly base: readonly string[];
  /**
   * Is a file meant that ripgrep did not leave out? By its path from the searched folder on. The time is bounded
   * whatever the name: a hostile one cannot make it exponential.
   */
  matches(path: string): boolean;
}

/** One element of a glob for a single name. */
type Part =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'any-run' }
  | {
      readonly kind: 'class';
      readonly ranges: readonly (readonly [string, string])[];
      readonly out: boolean;
    };

type Read = { readonly part: Part; readonly end: number } | string;

/**
 * Reads a glob: `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`, `\` before a character that is meant as such, `**` for any number
 * of folders, `!` in front for all other files. Without a `/` it is about base names at any depth, otherwise about the
 * path from the searched folder on.
 */
export function readGlob(glob: string): FileGlob | { readonly problem: string } {
  if (glob.length > MAX_GLOB_CHARS)
    return { problem: `the glob is longer than ${MAX_GLOB_CHARS} characters` };
  const negated = glob.startsWith('!');
  const text = (negated ? glob.slice(1) : glob).replace(/^(\.\/+)+/, '');
  if (text === '') return { problem: 'the glob is empty' };
  const alternatives = expandBraces(text);
  if (typeof alternatives === 'string') return { problem: alternatives };
  const patterns: Pattern[] = [];
  for (const alternative of alternatives) {
    const pattern = readPattern(alternative);
    if (typeof pattern === 'string') return { problem: pattern };
    patterns.push(pattern);
  }
  const matches = (path: string): boolean => patterns.some((pattern) => matchesPath(pattern, path));
  if (negated) return { args: [], base: [], matches: (path) => !matches(path) };
  const args = preselection(patterns);
  const exact = args.length > 0 && patterns.every(({ anchored }) => !anchored) && !text.includes('?');
  return { args, base: commonBase(patterns), matches: exact ? () => true : matches };
}

type Segment = { readonly text: string; readonly parts: readonly Part[] | 'folders' };

interface Pattern {
  readonly anchored: boolean;
  readonly segments: readonly Segment[];
}

function readPattern(glob: string): Pattern | string {
  const names = glob.split('/');
  if (names[0] === '' || names.includes('..'))
    return 'the glob is matched below the searched folder: it cannot begin with / or climb with ..';
  if (names.at(-1) === '') return 'the glob ends in /, but only files are found: write ** after it';
  const segments: Segment[] = [];
  for (const text of names.filter((name) => name !== '' && name !== '.')) {
    const parts = text === '**' ? 'folders' : readParts(text);
    if (typeof parts === 'string' && parts !== 'folders') return parts;
    segments.push({ text, parts });
  }
  // What `a/**` means are the files below `a`, at least one level down.
  if (segments.at(-1)?.parts === 'folders') segments.push({ text: '*', parts: [{ kind: 'any-run' }] });
  const anywhere = segments.length === 2 && segments[0]?.parts === 'folders';
  if (anywhere) segments.shift();
  return { anchored: names.length > 1 && !anywhere, segments };
}

function matchesPath(pattern: Pattern, path: string): boolean {
  const names = path.split('/');
  return matchesSegments(pattern.segments, pattern.anchored ? names : names.slice(-1));
}

/** Goes back to the last `**` only: whatever an earlier one could take, the last one can take as well. */
function matchesSegments(segments: readonly Segment[], names: readonly string[]): boolean {
  let at = 0;
  let name = 0;
  let retry: { at: number; name: number } | undefined;
  while (name < names.length) {
    const segment = segments[at];
    if (segment?.parts === 'folders') {
      retry = { at, name };
      at += 1;
    } else if (segment !== undefined && matchesParts(segment.parts, names[name] ?? '')) {
      at += 1;
      name += 1;
    } else if (retry !== undefined) {
      retry.name += 1;
      at = retry.at + 1;
      name = retry.name;
    } else return false;
  }
  return segments.slice(at).every(({ parts }) => parts === 'folders');
}

/**
 * Ripgrep's file types choose by base name after the ignore rules had their say; its `--glob` would overrule them.
 * Empty if a base name says nothing, or cannot be written as a type.
 */
function preselection(patterns: readonly Pattern[]): string[] {
  // Its `?` is a byte, ours a character.
  const names = new Set(
    patterns.map(({ segments }) => (segments.at(-1)?.text ?? '*').replace(/[*?]+/g, '*')),
  );
  if ([...names].some((name) => name === '*' || !/^[^:\\[\]{}]+$/.test(name))) return [];
  return [...[...names].flatMap((name) => ['--type-add', `lookfirst:${name}`]), '--type', 'lookfirst'];
}

function commonBase(patterns: readonly Pattern[]): string[] {
  const [first, ...others] = patterns.map(literalFolders);
  const shared = first ?? [];
  const end = shared.findIndex((name, index) => others.some((names) => names[index] !== name));
  return end < 0 ? shared : shared.slice(0, end);
}

function literalFolders({ segments }: Pattern): string[] {
  const folders = segments.slice(0, -1);
  const end = folders.findIndex(({ text }) => /[*?[\]\\]/.test(text));
  return (end < 0 ? folders : folders.slice(0, end)).map(({ text }) => text);
}

/** Every combination of the alternatives in braces, or what is wrong with them. */
function expandBraces(glob: string): string[] | string {
  const open = findPlain(glob, '{');
  if (open < 0) return findPlain(glob, '}') < 0 ? [glob] : 'the glob has a } without {';
  const choices = readChoices(glob, open);
  if (choices === undefined) return 'the glob has a { without }';
  const tails = expandBraces(glob.slice(choices.end));
  if (typeof tails === 'string') return tails;
  const expanded: string[] = [];
  for (const choice of choices.texts) {
    const middles = expandBraces(choice);
    if (typeof middles === 'string') return middles;
    if (expanded.length + middles.length * tails.length > MAX_ALTERNATIVES)
      return `the glob has more than ${MAX_ALTERNATIVES} alternatives`;
    for (const middle of middles)
      for (const tail of tails) expanded.push(glob.slice(0, open) + middle + tail);
  }
  return expanded;
}

/** Where a character stands for itself in no class and behind no backslash; -1 if nowhere. */
function findPlain(glob: string, wanted: string): number {
  for (let at = 0; at < glob.length; at = skip(glob, at)) if (glob[at] === wanted) return at;
  return -1;
}

function readChoices(glob: string, open: number): { texts: string[]; end: number } | undefined {
  const texts: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open; at < glob.length; at = skip(glob, at)) {
    const char = glob[at];
    if (char === '{') depth += 1;
    if (char === '}') depth -= 1;
    if ((char === ',' && depth === 1) || depth === 0) {
      texts.push(glob.slice(start, at));
      start = at + 1;
    }
    if (depth === 0) return { texts, end: at + 1 };
  }
  return undefined;
}

/** The next place to look at: past an escaped character, past a whole class. */
function skip(glob: string, at: number): number {
  if (glob[at] === '\\') return at + 2;
  if (glob[at] !== '[') return at + 1;
  const close = glob.indexOf(']', at + (/^\[[!^]?\]/.test(glob.slice(at, at + 3)) ? 3 : 1));
  return close < 0 ? at + 1 : close + 1;
}

/** Reads a glob without `/` and braces; a string says what is wrong with it. */
function readParts(glob: string): readonly Part[] | string {
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
function matchesParts(parts: readonly Part[], name: string): boolean {
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
