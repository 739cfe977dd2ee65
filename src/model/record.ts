/** A JSON object whose fields are unknown until they are checked. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** True for an object with named values: not null, not an array. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The fields without those that are undefined. Spread the result to leave optional fields absent.
 */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const found: Partial<T> = {};
  for (const key in fields) if (fields[key] !== undefined) found[key] = fields[key];
  // The cast is safe: no field is undefined.
  return found as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** The value of a field. Dots select fields of nested objects: `params.arguments`. */
export function fieldOf(value: unknown, dotted: string): unknown {
  let current = value;
  for (const name of dotted.split('.')) {
    if (!isRecord(current)) return undefined;
    current = current[name];
  }
  return current;
}

/** A field that is an object, or undefined. */
export function objectIn(value: JsonRecord, key: string): JsonRecord | undefined {
  const field = value[key];
  return isRecord(field) ? field : undefined;
}

/** A field that is a string, or undefined. */
export function stringIn(value: JsonRecord, key: string): string | undefined {
  const field = value[key];
  return typeof field === 'string' ? field : undefined;
}

/** The objects in a field that is an array; other elements are dropped. */
export function objectsIn(value: JsonRecord, key: string): readonly JsonRecord[] {
  const field = value[key];
  return Array.isArray(field) ? field.filter(isRecord) : [];
}

/** An integer field, either a number or a string of digits. */
export function integerIn(value: JsonRecord, key: string): number | undefined {
  const field = value[key];
  const number = typeof field === 'string' && /^-?\d{1,15}$/.test(field) ? Number(field) : field;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** A code fence around the whole text. */
const FENCED = /^\s*```[\w-]*[ \t]*\r?\n([\s\S]*?)\r?\n?[ \t]*```\s*$/;

/** A string of JSON, or a comma before the end of a list or object. */
const STRING_OR_LAST_COMMA = /"(?:[^"\\]|\\[\s\S])*"|,(?=\s*[\]}])/g;

/**
 * The value of JSON text in a code fence or with trailing commas, as models write it. Undefined if
 * the text is valid JSON, or is none after these repairs.
 */
export function repairedJson(text: string): unknown {
  const bare = FENCED.exec(text)?.[1] ?? text;
  const whole = bare.replace(STRING_OR_LAST_COMMA, (found) => (found === ',' ? '' : found));
  return whole === text ? undefined : parseJson(whole);
}

/**
 * Parses JSON text, with or without a byte order mark. Returns undefined if the text is not JSON,
 * is nested too deeply, or is too long.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** A time in milliseconds since 1970, given as a number or as ISO 8601. */
export function timeIn(value: JsonRecord, key: string): number | undefined {
  return timeOf(value[key]);
}

function timeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/**
 * The text of a tool result: a string, one text block, or the text blocks of an array, one per
 * line. Undefined if there is no text. An empty array gives '', because the host has emptied the
 * result.
 */
export function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (isRecord(content)) return stringIn(content, 'text');
  if (!Array.isArray(content)) return undefined;
  const texts = content.filter(isRecord).flatMap((block) => stringIn(block, 'text') ?? []);
  return texts.length > 0 || content.length === 0 ? texts.join('\n') : undefined;
}
