import { isRecord, type JsonRecord, stringIn } from '../model/record.ts';

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
 * The text of a tool result: a string, one text block, or the text blocks of an array, one per line.
 * Undefined if there is no text; an empty array is an emptied result and gives ''.
 */
export function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content;
  if (isRecord(content)) return stringIn(content, 'text');
  if (!Array.isArray(content)) return undefined;
  const texts = content.filter(isRecord).flatMap((block) => stringIn(block, 'text') ?? []);
  return texts.length > 0 || content.length === 0 ? texts.join('\n') : undefined;
}
