/** An object with named values, of which nothing more is known: what JSON or a program without types may hand over. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
