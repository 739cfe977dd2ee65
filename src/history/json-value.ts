import { isRecord } from '../model/record.ts';

/** A JSON object; every field is unknown until looked at. */
export type JsonRecord = Readonly<Record<string, unknown>>;

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

/** The objects of a field that is an array; other members are left out. */
export function objectsIn(value: JsonRecord, key: string): readonly JsonRecord[] {
  const field = value[key];
  return Array.isArray(field) ? field.filter(isRecord) : [];
}

/** A whole number that lines can be counted with, also when it is written as a string. */
export function integerIn(value: JsonRecord, key: string): number | undefined {
  const field = value[key];
  const number = typeof field === 'string' && /^-?\d{1,15}$/.test(field) ? Number(field) : field;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** Milliseconds since 1970 of a time written as such or as ISO 8601. */
export function timeIn(value: JsonRecord, key: string): number | undefined {
  return timeOf(value[key]);
}

export function timeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? undefined : parsed;
}

/** JSON text, with or without a byte order mark, or undefined for anything that is not, or that is too deep or too long for the parser. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * The text of a tool result: a string, one text block, or the text blocks of an array, one per line.
 * Undefined when there is none to speak of; an empty array is an emptied result and gives ''.
 */
export function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (isRecord(content)) return stringIn(content, 'text');
  if (!Array.isArray(content)) return undefined;
  const texts = content.filter(isRecord).flatMap((block) => stringIn(block, 'text') ?? []);
  return texts.length > 0 || content.length === 0 ? texts.join('\n') : undefined;
}
