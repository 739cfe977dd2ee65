import { nextOf, standsAt } from './byte-match.ts';
import { NAME_LENGTH, type Named, nameAt } from './claude-name.ts';

/** The text of a result as JSON writes it, and what stands behind it in the line. */
export interface SkimmedContent {
  readonly literal: Buffer;
  readonly named: Named;
  /** Where the record goes on after its time. */
  readonly after: number;
}

const CONTENT = Buffer.from('"content":"');
/** A quote inside the text is escaped, so this cannot stand in it. */
const CONTENT_END = Buffer.from('}]},"uuid":"');
const WELL = Buffer.from('","is_error":false');
const QUOTE = 34;
const ELLIPSIS = Buffer.from('…');
const DOTS = Buffer.from('...');
/** As other writers of JSON than hosts escape it. */
const ELLIPSIS_CODE = Buffer.from('2026');
const TRUNCATED = Buffer.from('truncated');

/** The text in the rest of a result's line; undefined if the line is not exactly as expected. */
export function skimContent(line: Buffer): SkimmedContent | undefined {
  if (!standsAt(line, CONTENT, 0)) return undefined;
  const end = nextOf(line, CONTENT_END, CONTENT.length);
  if (end === -1) return undefined;
  const closed = standsAt(line, WELL, end - WELL.length) ? end - WELL.length : end - 1;
  const uuid = end + CONTENT_END.length;
  const named = line[closed] === QUOTE ? nameAt(line, uuid) : undefined;
  if (named === undefined) return undefined;
  return { literal: line.subarray(CONTENT.length, closed), named, after: uuid + NAME_LENGTH };
}

/** Texts up to this length are searched for the word at once. */
const SHORT = 256;

/**
 * May a host have cut something out of the middle of this text, or off its lines? It says so in that word, and with dots.
 * In a long text these are looked for first: hardly a letter of the word is rare enough to be found without looking at every line.
 */
export function mayBeCut(literal: Buffer): boolean {
  if (literal.length <= SHORT && nextOf(literal, TRUNCATED, 0) === -1) return false;
  const dotted = literal.includes(DOTS) || literal.includes(ELLIPSIS) || literal.includes(ELLIPSIS_CODE);
  return dotted && literal.includes(TRUNCATED);
}
