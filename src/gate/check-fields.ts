import { nearest } from '../config/nearest.ts';
import { isRecord } from '../model/record.ts';

/** What a field of an object may hold; `must` ends the sentence "NAME must be …". */
export interface Field {
  readonly is: (value: unknown) => boolean;
  readonly must: string;
  readonly required?: true;
}

/** The fields an object may have, by name; see `fieldsOf`. */
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

/** One of these words. */
export function oneOf(...words: readonly string[]): Field {
  return {
    is: (value) => typeof value === 'string' && words.includes(value),
    must: `one of ${words.join(', ')}`,
  };
}

/** The same field, which may not be left out. */
export function required(field: Field): Field {
  return { ...field, required: true };
}

/** A whole number from `least` on. */
export function wholeNumber(least: number): Field {
  return {
    is: (value) => typeof value === 'number' && Number.isInteger(value) && value >= least,
    must: `a whole number from ${least} on`,
  };
}

/** Made once for each kind of object, so that checking one needs no more than a look at its own fields. */
export function fieldsOf(fields: Readonly<Record<string, Field>>): Fields {
  const names = Object.keys(fields).filter((name) => fields[name]?.required === true);
  return { byName: new Map(Object.entries(fields)), required: names };
}

/**
 * Why these are not such fields; undefined if they are. One that is not known is an error, never ignored: a misspelt condition
 * would be none. A field that is undefined counts as left out. Every vet and change passes here.
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
  const near = nearest(name, known);
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
