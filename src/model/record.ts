/** A JSON object whose fields are unknown until they are checked. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** True for an object with named values: not null, not an array. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a field. Dots lead into nested objects: `params.arguments`. */
export function fieldOf(value: unknown, dotted: string): unknown {
  let current = value;
  for (const name of dotted.split('.')) {
    if (!isRecord(current)) return undefined;
    current = current[name];
  }
  return current;
}
