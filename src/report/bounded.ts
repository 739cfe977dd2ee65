/** No quotation (diff, nearest text) in a refusal or notice is longer; what is cut off was not shown and is not seen. */
export const MAX_QUOTED_CHARS = 20_000;

const MAX_PATH_CHARS = 300;
const MAX_REASON_CHARS = 500;

/** The beginning of a text, ending in `…` if it was cut. */
export function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${whole(text.slice(0, maxChars - 1))}…`;
}

/** A diff or other quotation, within bounds and honest about it. */
export function quotation(text: string): string {
  if (text.length <= MAX_QUOTED_CHARS) return text.replace(/\n+$/, '');
  return `${whole(text.slice(0, MAX_QUOTED_CHARS))}\n[cut: ${text.length - MAX_QUOTED_CHARS} more characters]`;
}

/** A path in a sentence: as given, but quoted if it holds anything that could pass for more than a path. */
export function pathText(path: string): string {
  if (path === '') return '""';
  const short = middleCut(path, MAX_PATH_CHARS);
  const plain = !UNPRINTABLE.test(short) && !short.includes('"') && short.trim() === short;
  return plain ? short : jsonText(short);
}

/** A value as JSON on one visible line: whatever could break a line or hide on it is escaped. */
export function jsonText(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(ALL_UNPRINTABLE, escaped);
}

/** Words from elsewhere (a reason, an error) on one line. */
export function phrase(text: string): string {
  // Cut before looking: the text may be of any length, and runs of spaces become one.
  const start = text.slice(0, 4 * MAX_REASON_CHARS);
  const line = start.replace(ALL_UNPRINTABLE, ' ').replace(/ {2,}/g, ' ').trim();
  return clip(line, MAX_REASON_CHARS);
}

/** Text of files for a terminal, line by line as it is: characters that would steer the terminal or reorder a line are spelt out. */
export function harmless(text: string): string {
  return text.replace(STEERING, escaped);
}

/** Control characters but tab, newline and the carriage return of a line's end; and what turns the direction of text. */
const STEERING =
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]|\r(?!\n|$)/g;

/** Control, format and unassigned characters, lone surrogates, line and paragraph separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
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

/** Without half a surrogate pair at the end. */
function whole(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.slice(0, -1) : text;
}
