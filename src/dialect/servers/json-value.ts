export type JsonRecord = Readonly<Record<string, unknown>>;

/** True for a plain JSON object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a field; dots lead inside. */
export function fieldOf(value: unknown, dotted: string): unknown {
  let current = value;
  for (const name of dotted.split('.')) {
    if (!isRecord(current)) return undefined;
    current = current[name];
  }
  return current;
}
