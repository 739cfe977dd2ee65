/**
 * Maximum length of a quotation (diff, nearest text) in a refusal or notice. The part that is cut off does not count as
 * seen.
 */
export const MAX_QUOTED_CHARS = 20_000;

const MAX_PATH_CHARS = 300;
const MAX_REASON_CHARS = 500;

/** The beginning of a text, with `…` at the end if it was cut. */
export function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${whole(text.slice(0, maxChars - 1))}…`;
}

/** A diff or other quotation. If it is longer than `MAX_QUOTED_CHARS`, it is cut, and a note says so. */
export function quotation(text: string): string {
  if (text.length <= MAX_QUOTED_CHARS) return text.replace(/\n+$/, '');
  return `${whole(text.slice(0, MAX_QUOTED_CHARS))}\n[cut: ${text.length - MAX_QUOTED_CHARS} more characters]`;
}

/**
 * A path for use in a sentence. A path of more than 300 characters is cut in the middle. Quoted if
 * it contains quotes, unprintable characters, or spaces at its start or end.
 */
export function pathText(path: string): string {
  if (path.length <= MAX_PATH_CHARS && PLAIN_PATH.test(path)) return path;
  if (path === '') return '""';
  const short = middleCut(path, MAX_PATH_CHARS);
  const plain = !UNPRINTABLE.test(short) && !short.includes('"') && short.trim() === short;
  return plain ? short : jsonText(short);
}

/** A value as JSON on one visible line. Characters that could break the line or hide in it are escaped. */
export function jsonText(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(ALL_UNPRINTABLE, escaped);
}

/** A word as a POSIX shell takes it literally. */
export function quotedWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** A path as one visible word of a shell command, which the shell does not expand or take for an option. */
export function shellPath(path: string): string {
  const operand = path.startsWith('-') ? `./${path}` : path;
  if (/^[\w./@%+,:-]+$/.test(operand)) return operand;
  if (!UNPRINTABLE.test(operand)) return quotedWord(operand);
  return `$'${jsonText(operand).slice(1, -1).replaceAll("'", "\\'")}'`;
}

/** Text from outside Lookfirst (a reason, an error) on one line, cut to 500 characters. */
export function phrase(text: string): string {
  // Shorten the text first, because it may be very long. Keep more than the limit, because runs of
  // spaces become one space.
  const start = text.slice(0, 4 * MAX_REASON_CHARS);
  const line = start.replace(ALL_UNPRINTABLE, ' ').replace(/ {2,}/g, ' ').trim();
  return clip(line, MAX_REASON_CHARS);
}

/**
 * File text for a terminal, with the same line breaks. Characters that would control the terminal
 * or reorder a line are escaped.
 */
export function harmless(text: string): string {
  return text.replace(STEERING, escaped);
}

/** A name on one line, with every control, format and other invisible character escaped. */
export function visibleName(text: string): string {
  return text.replace(ALL_UNPRINTABLE, escaped);
}

/**
 * Matches characters that change the text direction, and control characters except tab, newline and
 * the carriage return at a line end.
 */
const STEERING =
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]|\r(?!\n|$)/g;

/** Matches control, format and unassigned characters, lone surrogates, line and paragraph separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
/** Matches visible ASCII without quotes: nearly all paths. It takes a fraction of the time of Unicode classes. */
const PLAIN_PATH = /^[!#-~]+$/;
const ALL_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');

function middleCut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const half = Math.floor((maxChars - 1) / 2);
  return `${whole(text.slice(0, half))}…${text.slice(-half)}`;
}

function escaped(char: string): string {
  let text = '';
  for (let i = 0; i < char.length; i++) text += `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return text;
}

/** Removes a high surrogate at the end of a text: a cut has separated it from its other half. */
function whole(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
