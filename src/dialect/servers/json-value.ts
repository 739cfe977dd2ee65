import { isRecord } from '../../model/record.ts';

export type JsonRecord = Readonly<Record<string, unknown>>;

/** The value of a field; dots lead inside. */
export function fieldOf(value: unknown, dotted: string): unknown {
  let current = value;
  for (const name of dotted.split('.')) {
    if (!isRecord(current)) return undefined;
    current = current[name];
  }
  return current;
}
