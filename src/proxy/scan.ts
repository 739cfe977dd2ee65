/**
 * Cheap looks at a message's bytes, so that most messages need no parsing. Inside a JSON string every quote is escaped,
 * so a quoted key found here is a real key, though perhaps of an inner object.
 */

const METHOD = Buffer.from('"method"');
/** How a letter of a key may be written instead. */
const ESCAPED_LETTER = Buffer.from('\\u00');
const QUOTE = 0x22;
const COLON = 0x3a;

/**
 * Every value of a `"method"` key in the line, at any depth; `undefined` stands for one that must be parsed to be known,
 * or for a key that may be spelt in another way. Methods the caller does not care about need no further look.
 */
export function methodsIn(line: Buffer): (string | undefined)[] {
  const found: (string | undefined)[] = [];
  for (let at = line.indexOf(METHOD); at >= 0; at = line.indexOf(METHOD, at + METHOD.length)) {
    const value = stringAfterColon(line, at + METHOD.length);
    if (value !== null) found.push(value);
  }
  if (line.includes(ESCAPED_LETTER)) found.push(undefined);
  return found;
}

/** Null: no colon and string follow, so that this was no key with a text. */
function stringAfterColon(line: Buffer, from: number): string | undefined | null {
  let at = skipSpace(line, from);
  if (line[at] !== COLON) return null;
  at = skipSpace(line, at + 1);
  if (line[at] !== QUOTE) return null;
  const end = line.indexOf(QUOTE, at + 1);
  if (end < 0) return undefined;
  const value = line.toString('latin1', at + 1, end);
  return value.includes('\\') ? undefined : value;
}

/** The first place from here on that is no white space. */
export function skipSpace(line: Buffer, from: number): number {
  let at = from;
  while (isSpace(line[at])) at++;
  return at;
}

/** White space that may stand within a line of JSON. */
export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

/** A message is an object, or an array of them. */
export function beginsMessage(byte: number | undefined): boolean {
  return byte === 0x7b || byte === 0x5b;
}

const HEAD = /^\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*("[ !#-[\]-~]*"|-?\d+)\s*[,}]/;
const TAIL = /[,{]\s*"id"\s*:\s*("[ !#-[\]-~]*"|-?\d+)\s*\}\s*$/;
const WINDOW = 256;

/**
 * The id of a message as JSON text, if it stands first or last among the keys, where every known implementation puts it.
 * Undefined means "not there": parse to be sure.
 */
export function idIn(line: Buffer): string | undefined {
  const head = line.toString('latin1', 0, Math.min(line.length, WINDOW));
  return idBetween(head, line.toString('latin1', Math.max(0, line.length - WINDOW)));
}

/** The same for a message of which only beginning and end are at hand. */
export function idBetween(head: string, tail: string): string | undefined {
  return HEAD.exec(head)?.[1] ?? TAIL.exec(tail)?.[1];
}

const RESPONSE =
  /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(?:"[ !#-[\]-~]*"|-?\d+)\s*,\s*)?"(?:result|error)"\s*:/;

/** True when the beginning already shows that this is an answer. False means "not seen": parse to be sure. */
export function isPlainlyResponse(head: string): boolean {
  return RESPONSE.test(head);
}
