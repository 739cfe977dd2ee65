import { nearestName } from '../model/nearest-name.ts';
import { isRecord } from '../model/record.ts';

/** Rule for the value of a field. `must` completes the sentence "NAME must be …". */
export interface Field {
  readonly is: (value: unknown) => boolean;
  readonly must: string;
  readonly required?: true;
}

/** The fields an object may have, by name. Built by `fieldsOf`. */
export interface Fields {
  readonly byName: ReadonlyMap<string, Field>;
  readonly required: readonly string[];
}

export const ANYTHING: Field = { is: () => true, must: 'there' };
export const FLAG: Field = { is: (value) => typeof value === 'boolean', must: 'true or false' };
export const TEXT: Field = { is: (value) => typeof value === 'string', must: 'a string' };
export const LIST: Field = { is: Array.isArray, must: 'an array' };
export const CONTENT: Field = {
  is: (value) => typeof value === 'string' || value instanceof Uint8Array,
  must: 'a string or a Uint8Array',
};

export const LINES: Field = { is: isRanges, must: 'an array of lines { from, to }, from 1 on' };

/** A field whose value is one of these words. */
export function oneOf(...words: readonly string[]): Field {
  return {
    is: (value) => typeof value === 'string' && words.includes(value),
    must: `one of ${words.join(', ')}`,
  };
}

/** The given field, made mandatory. */
export function required(field: Field): Field {
  return { ...field, required: true };
}

/** A field for integers not below `least`. */
export function wholeNumber(least: number): Field {
  return {
    is: (value) => typeof value === 'number' && Number.isInteger(value) && value >= least,
    must: `a whole number from ${least} on`,
  };
}

/** Builds the field rules. Called once per kind of object, so that a check only visits the object's own fields. */
export function fieldsOf(fields: Readonly<Record<string, Field>>): Fields {
  const names = Object.keys(fields).filter((name) => fields[name]?.required === true);
  return { byName: new Map(Object.entries(fields)), required: names };
}

/**
 * The reason the given fields break the rules, or undefined if they are valid. An unknown field is an error: a misspelt
 * condition would otherwise be ignored. Undefined values count as absent. Runs on every vet and change.
 */
export function whyNoFields(given: Readonly<Record<string, unknown>>, fields: Fields): string | undefined {
  let found = 0;
  for (const name in given) {
    const value = given[name];
    if (value === undefined) continue;
    const field = fields.byName.get(name);
    if (field === undefined) return unknownName(name, [...fields.byName.keys()]);
    if (field !== ANYTHING && !field.is(value)) return `${name} must be ${field.must}`;
    if (field.required === true) found += 1;
  }
  if (found === fields.required.length) return undefined;
  const missing = fields.required.find((name) => given[name] === undefined) ?? '';
  return `${missing} must be ${fields.byName.get(missing)?.must}`;
}

function unknownName(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  const hint = near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
  return `there is no field ${JSON.stringify(name)}${hint}`;
}

function isRanges(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRange);
}

function isRange(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { from, to } = value;
  return (
    typeof from === 'number' &&
    typeof to === 'number' &&
    Number.isInteger(from) &&
    from >= 1 &&
    (Number.isInteger(to) || to === Number.POSITIVE_INFINITY) &&
    to >= from
  );
}
