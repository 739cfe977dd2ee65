import { endingUsed, lineAt, type Span, splitLines, withEnding } from '../lines.ts';
import { findAnchor, withLineEnding } from '../match.ts';
import { landOnLines, type PlacedEdit, type Rivals, type Texts } from './lines.ts';

/**
 * Finds the only place for an edit whose text does not match exactly, by ignoring one kind of small
 * mistake: copied line numbers, indentation, a blank line, spaces inside lines, or escaping.
 * Returns {@link Rivals} if several places match without the mistake.
 */
export function landLoosely(text: string, texts: Texts): PlacedEdit | Rivals | undefined {
  return landNumbered(text, texts) ?? landOnLines(text, texts) ?? landEscaped(text, texts);
}

/**
 * Writes the replacement with the line endings of its place. An edit that deletes whole lines also
 * deletes the line ending after them.
 */
function placed(text: string, { tier, span, replacement }: PlacedEdit): PlacedEdit {
  const old = text.slice(span.start, span.end);
  if (replacement === '' && !old.endsWith('\n'))
    return { tier, span: withLineEnding(text, span), replacement };
  const used = endingUsed(old) ?? endingUsed(text);
  return { tier, span, replacement: withEnding(replacement, used === 'mixed' ? undefined : used) };
}

/** One way in which a text may have been escaped once too often: escaped forms and the characters they mean. */
type Escapes = Readonly<Record<string, string>>;

const QUOTES: Escapes = { '\\"': '"', "\\'": "'", '\\`': '`' };
const BACKSLASH: Escapes = { '\\\\': '\\' };
const LINES: Escapes = { '\\n': '\n', '\\t': '\t', '\\r\\n': '\n' };
const ENTITIES: Escapes = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
  '&#x27;': "'",
  '&apos;': "'",
  '&nbsp;': ' ',
};

const BACKSLASHED: Escapes = { ...LINES, ...QUOTES, ...BACKSLASH };

/** The ways of escaping that are tried, strictest first. Each one reverts only the escapes it names. */
const WAYS: readonly Escapes[] = [
  QUOTES,
  ENTITIES,
  LINES,
  BACKSLASH,
  { ...QUOTES, ...BACKSLASH },
  { ...LINES, ...QUOTES },
  BACKSLASHED,
];

/**
 * Matches an old text that was escaped once too often. Reverting one way of escaping must give text
 * that occurs exactly once. The new text is unescaped in the same way. If the new text contains a
 * backslash escape that the old text lacks, the meaning of this escape is unknown, and the edit is
 * refused.
 */
function landEscaped(text: string, { oldString, newString }: Texts): PlacedEdit | Rivals | undefined {
  for (const way of WAYS) {
    const anchor = undone(oldString, way);
    if (anchor.used.size === 0) continue;
    const found = findAnchor(text, anchor.text, { loosest: 'line-endings' });
    if (found === undefined) continue;
    if (found.count > 1) return { spans: found.spans };
    const [span] = found.spans;
    const replacement = undone(newString, way);
    if (span === undefined || (way !== ENTITIES && hasUnknown(newString, oldString, way))) return undefined;
    return placed(text, { tier: 'escapes', span, replacement: replacement.text });
  }
  return undefined;
}

/**
 * True if the new text contains an escape whose meaning the old text does not prove. An escape that
 * the old text contains is proven. A real line break in the old text proves that escaped line
 * breaks are meant literally.
 */
function hasUnknown(newString: string, oldString: string, way: Escapes): boolean {
  const known = undone(oldString, BACKSLASHED).used;
  const hasLiteralLines = way['\\n'] === undefined && oldString.includes('\n');
  return [...undone(newString, BACKSLASHED).used].some(
    (each) => !known.has(each) && !(hasLiteralLines && LINES[each] !== undefined),
  );
}

/** The text with these escapes reverted, and the escapes that it contained. */
function undone(text: string, way: Escapes): { readonly text: string; readonly used: ReadonlySet<string> } {
  const used = new Set<string>();
  const pattern = way['&lt;'] === undefined ? /\\(?:r\\n|[\s\S])/g : /&(?:#?\w{2,5});/g;
  const plain = text.replace(pattern, (written) => {
    const meant = way[written];
    if (meant === undefined) return written;
    used.add(written);
    return meant;
  });
  return { text: plain, used };
}

/** Formats in which tools print a numbered line: with a tab (Lookfirst), an arrow, a colon (grep). */
const FORMS: readonly RegExp[] = [/^ *(\d{1,7})\t/, /^ *(\d{1,7})→/, /^(\d{1,7}):/, /^ *(\d{1,7}): /];

/**
 * Matches an old text that was copied with the line numbers of a read. Every line must have a
 * number in one format. Without the numbers, the text must match at one place only, and the numbers
 * must be those of the lines there. The numbers never choose between two places.
 */
function landNumbered(text: string, { oldString, newString }: Texts): PlacedEdit | Rivals | undefined {
  for (const form of FORMS) {
    const anchor = unnumbered(oldString, form);
    if (anchor === undefined) continue;
    const found = findAnchor(text, anchor.text, { loosest: 'trailing-space' });
    if (found === undefined) continue;
    if (found.count > 1) return { spans: found.spans };
    const [span] = found.spans;
    if (span === undefined || !isAt(text, span, anchor.first)) continue;
    const replacement = withoutNumbers(newString, form, anchor.first);
    return placed(text, { tier: 'line-numbers', span, replacement });
  }
  return undefined;
}

/** True if the span begins at the start of this line. A read numbers only whole lines. */
function isAt(text: string, span: Span, line: number): boolean {
  const begins = span.start === 0 || text[span.start - 1] === '\n';
  return begins && lineAt(text, span.start) === line;
}

/**
 * The text without its line numbers, and the first number. Undefined unless every line has a number and the numbers
 * are consecutive.
 */
function unnumbered(
  text: string,
  form: RegExp,
): { readonly text: string; readonly first: number } | undefined {
  let first: number | undefined;
  const lines: string[] = [];
  for (const [index, line] of splitLines(text).entries()) {
    const [mark, digits] = form.exec(line) ?? [];
    if (mark === undefined) return undefined;
    first ??= Number(digits);
    if (Number(digits) !== first + index) return undefined;
    lines.push(line.slice(mark.length));
  }
  return first === undefined ? undefined : { text: lines.join(''), first };
}

/**
 * Removes line numbers that ascend from `first`. Lines without a number are new text of the model
 * and stay unchanged.
 */
function withoutNumbers(text: string, form: RegExp, first: number): string {
  let last = first - 1;
  return splitLines(text)
    .map((line) => {
      const [mark, digits] = form.exec(line) ?? [];
      if (mark === undefined || Number(digits) <= last) return line;
      last = Number(digits);
      return line.slice(mark.length);
    })
    .join('');
}
