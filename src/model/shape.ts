import { nearestName } from './nearest-name.ts';
import { isRecord } from './record.ts';

interface Described {
  readonly description?: string;
  readonly default?: unknown;
  /** Completes the sentence "NAME must be …". Default: derived from the shape. */
  readonly must?: string;
}

/**
 * The form that a value must have, as data. The kinds from `string` to `object` are written as in
 * JSON Schema. The others are for settings, and for values that only a program can pass, such as
 * functions. `toJsonSchema` converts all of them.
 */
export type Shape =
  | ({
      readonly type: 'string';
      readonly enum?: readonly string[];
      readonly minLength?: number;
    } & Described)
  | ({
      readonly type: 'number' | 'integer';
      readonly minimum?: number;
      readonly maximum?: number;
    } & Described)
  | ({ readonly type: 'boolean' } & Described)
  | ({ readonly type: 'array'; readonly items: Shape; readonly minItems?: number } & Described)
  | ObjectShape
  /** An object with any names, whose values all have one shape. */
  | ({ readonly type: 'map'; readonly values: Shape } & Described)
  /** One of these constants, of any type. */
  | ({ readonly type: 'constant'; readonly values: readonly unknown[] } & Described)
  | ({ readonly type: 'either'; readonly shapes: readonly Shape[] } & Described)
  | VariantShape
  /** Any value. The code that uses the value checks it. */
  | ({ readonly type: 'any' } & Described)
  /** A value that only a program can pass, such as a function or bytes. */
  | ({
      readonly type: 'tested';
      readonly is: (value: unknown) => boolean;
      readonly must: string;
    } & Described);

/** An object with these properties and no others. */
export interface ObjectShape extends Described {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly additionalProperties: false;
}

/** An object whose property `tag` selects one of several object shapes. Built by `variantOf`. */
interface VariantShape extends Described {
  readonly type: 'variant';
  readonly tag: string;
  readonly variants: Readonly<Record<string, ObjectShape>>;
}

/** One reason why a value does not have its shape. */
interface Mismatch {
  readonly kind: 'unknown' | 'missing' | 'wrong';
  /** The position of the value: `changes[0].edits`; empty for the checked value itself. */
  readonly path: string;
  /** Completes "must be …"; for an unknown name: the known names, or empty if they are too many to list. */
  readonly expected: string;
  readonly given: unknown;
  /** The path or value that was probably meant. */
  readonly suggestion?: string;
}

export const ANY: Shape = { type: 'any' };
export const FLAG: Shape = { type: 'boolean' };
export const TEXT: Shape = { type: 'string' };
export const NAME: Shape = { type: 'string', minLength: 1, must: 'a text that is not empty' };

const NO_MISMATCH: readonly Mismatch[] = [];
const NO_NAMES: readonly string[] = [];
const MAX_NAMES = 12;
const MAX_QUOTED_CHARS = 40;
const MAX_PATH_CHARS = 80;

/**
 * An object shape whose TypeScript type still names its properties, because `ValueOf` needs them.
 */
type ObjectOf<P, R> = ObjectShape & { readonly properties: P; readonly required: R };

/** An object shape; `required` names the properties that must be there. */
export function objectOf<
  const P extends ObjectShape['properties'],
  const R extends readonly (keyof P & string)[] = readonly [],
>(properties: P, required?: R): ObjectOf<P, R> {
  const shape: ObjectShape = {
    type: 'object',
    properties,
    ...(required === undefined ? {} : { required }),
    additionalProperties: false,
  };
  // The cast only tells the type checker that a missing `required` list is an empty one.
  return shape as ObjectOf<P, R>;
}

/** A shape of several variants. Each variant gets the tag as a property, with its own name as the only value. */
export function variantOf(tag: string, variants: Readonly<Record<string, ObjectShape>>): VariantShape {
  const tagged = Object.entries(variants).map(([name, variant]) => {
    const properties = { [tag]: { type: 'constant', values: [name] } as const, ...variant.properties };
    return [name, { ...variant, properties, required: [tag, ...(variant.required ?? [])] }];
  });
  return { type: 'variant', tag, variants: Object.fromEntries(tagged) };
}

export function listOf(items: Shape, more: Described & { readonly minItems?: number } = {}): Shape {
  return { type: 'array', items, ...more };
}

export function oneOf(...values: readonly string[]): Shape {
  return { type: 'string', enum: values };
}

/** The shape of integers from `minimum` on. */
export function integerFrom(minimum: number): Shape {
  return { type: 'integer', minimum };
}

/**
 * Every reason why a value does not have the shape; empty if it has the shape. An unknown name is a
 * mismatch, because a misspelt setting would otherwise be ignored. A property that is undefined
 * counts as absent.
 */
export function checkShape(shape: Shape, value: unknown): readonly Mismatch[] {
  switch (shape.type) {
    case 'any':
      return NO_MISMATCH;
    case 'array':
      return checkArray(shape, value);
    case 'object':
      return checkObject(shape, value);
    case 'map':
      if (!isRecord(value)) return [wrong(shape, value)];
      return Object.entries(value).flatMap(([name, item]) => within(name, checkShape(shape.values, item)));
    case 'either':
      return checkEither(shape, value);
    case 'variant':
      return checkVariant(shape, value);
    default:
      return isPlain(shape, value) ? NO_MISMATCH : [wrong(shape, value)];
  }
}

type Composed = 'any' | 'array' | 'object' | 'map' | 'either' | 'variant';

function isPlain(shape: Exclude<Shape, { type: Composed }>, value: unknown): boolean {
  switch (shape.type) {
    case 'string':
      return (
        typeof value === 'string' &&
        (shape.enum === undefined || shape.enum.includes(value)) &&
        value.length >= (shape.minLength ?? 0)
      );
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
    case 'integer':
      return (
        typeof value === 'number' &&
        (shape.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)) &&
        value >= (shape.minimum ?? value) &&
        value <= (shape.maximum ?? value)
      );
    case 'constant':
      return shape.values.includes(value);
    case 'tested':
      return shape.is(value);
    default:
      return shape satisfies never;
  }
}

function checkArray(shape: Extract<Shape, { type: 'array' }>, value: unknown): readonly Mismatch[] {
  if (!Array.isArray(value) || value.length < (shape.minItems ?? 0)) return [wrong(shape, value)];
  if (shape.items.type === 'any') return NO_MISMATCH;
  let found = NO_MISMATCH;
  for (let index = 0; index < value.length; index += 1) {
    const more = checkShape(shape.items, value[index]);
    if (more.length > 0) found = [...found, ...within(`[${index}]`, more)];
  }
  return found;
}

function checkObject(shape: ObjectShape, value: unknown): readonly Mismatch[] {
  if (!isRecord(value)) return [wrong(shape, value)];
  const { properties, minProperties = 0 } = shape;
  let found = NO_MISMATCH;
  let count = 0;
  for (const name in value) {
    const given = value[name];
    if (given === undefined) continue;
    count += 1;
    const more = checkMember(properties, name, given);
    if (more.length > 0) found = [...found, ...more];
  }
  for (const name of shape.required ?? NO_NAMES)
    if (value[name] === undefined || !Object.hasOwn(value, name))
      found = [...found, missing(properties[name] ?? ANY, name)];
  return count < minProperties && found.length === 0 ? [wrong(shape, value)] : found;
}

function checkMember(
  properties: ObjectShape['properties'],
  name: string,
  given: unknown,
): readonly Mismatch[] {
  const expected = properties[name];
  // Check `type`, not only `expected`: for a name such as `constructor`, `expected` is a member
  // that every object inherits, and has no `type`.
  if (expected?.type === undefined) return [unknownName(properties, name, given)];
  const found = checkShape(expected, given);
  return found.length === 0 ? found : within(name, found);
}

/**
 * Checks a value that may have one of several shapes. If only one of these shapes has the value's
 * type, reports the mismatches of that shape, which say more than "must be A or B".
 */
function checkEither(shape: Extract<Shape, { type: 'either' }>, value: unknown): readonly Mismatch[] {
  const tried = shape.shapes.map((each) => checkShape(each, value));
  if (tried.some((found) => found.length === 0)) return NO_MISMATCH;
  const deeper = tried.filter((found) => found.some((each) => each.path !== ''));
  return deeper.length === 1 && deeper[0] !== undefined ? deeper[0] : [wrong(shape, value)];
}

function checkVariant(shape: VariantShape, value: unknown): readonly Mismatch[] {
  if (!isRecord(value)) return [wrong(shape, value)];
  const { tag, variants } = shape;
  const chosen = value[tag];
  const variant =
    typeof chosen === 'string' && Object.hasOwn(variants, chosen) ? variants[chosen] : undefined;
  if (variant !== undefined) return checkObject(variant, value);
  return within(tag, checkShape(oneOf(...Object.keys(variants)), chosen));
}

/** Puts the name or `[index]` of a member before the paths of its mismatches. */
function within(member: string, found: readonly Mismatch[]): readonly Mismatch[] {
  const inside = (path: string): string =>
    path === '' || path.startsWith('[') ? `${member}${path}` : `${member}.${path}`;
  return found.map((each) => {
    const path = inside(each.path);
    return each.kind === 'unknown' && each.suggestion !== undefined
      ? { ...each, path, suggestion: inside(each.suggestion) }
      : { ...each, path };
  });
}

function unknownName(properties: ObjectShape['properties'], name: string, given: unknown): Mismatch {
  const known = Object.keys(properties);
  const near = nearestName(name, known);
  return {
    kind: 'unknown',
    path: name,
    expected: known.length > MAX_NAMES ? '' : known.join(', '),
    given,
    ...(near === undefined ? {} : { suggestion: near }),
  };
}

function missing(shape: Shape, path: string): Mismatch {
  return { kind: 'missing', path, expected: expectation(shape), given: undefined };
}

function wrong(shape: Shape, given: unknown): Mismatch {
  const words = shape.type === 'string' ? shape.enum : undefined;
  const near = words !== undefined && typeof given === 'string' ? nearestName(given, words) : undefined;
  const suggestion = near === undefined ? {} : { suggestion: near };
  return { kind: 'wrong', path: '', expected: expectation(shape), given, ...suggestion };
}

/** Completes the sentence "NAME must be …" for a shape. */
function expectation(shape: Shape): string {
  if (shape.must !== undefined) return shape.must;
  switch (shape.type) {
    case 'string':
      return shape.enum === undefined ? 'a string' : `one of ${shape.enum.map(quoted).join(', ')}`;
    case 'boolean':
      return 'true or false';
    case 'number':
      return `a number${bounds(shape)}`;
    case 'integer':
      return `a whole number${bounds(shape)}`;
    case 'array':
      return (shape.minItems ?? 0) === 0 ? 'an array' : `an array of at least ${shape.minItems}`;
    case 'object':
      return namesIn(Object.keys(shape.properties));
    case 'map':
    case 'variant':
      return 'an object';
    case 'constant':
      return shape.values.map(quoted).join(' or ');
    case 'either':
      return shape.shapes.map(expectation).join(' or ');
    case 'any':
      return 'there';
    case 'tested':
      return shape.must;
    default:
      return shape satisfies never;
  }
}

function bounds({ minimum, maximum }: { readonly minimum?: number; readonly maximum?: number }): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

function namesIn(names: readonly string[]): string {
  return names.length === 0 || names.length > MAX_NAMES ? 'an object' : `an object with ${names.join(', ')}`;
}

/** The words that a sentence about a mismatch uses. */
interface MismatchWords {
  /** The kind of thing that a path names: `argument`, `key`, `option` or `field`. */
  readonly noun: string;
  /** The checked value as a whole, for example `the arguments` or `a change`. */
  readonly whole: string;
}

/** One sentence about a mismatch, without a full stop: place, expectation, the value given, and the suggestion. */
export function mismatchText(mismatch: Mismatch, { noun, whole }: MismatchWords): string {
  const { kind, path, expected, given, suggestion } = mismatch;
  const name = path === '' ? whole : quoted(path.slice(0, MAX_PATH_CHARS));
  const hint = suggestion === undefined ? '' : `; did you mean ${quoted(suggestion)}?`;
  switch (kind) {
    case 'unknown': {
      const known = hint === '' && expected !== '' ? ` (known are ${expected})` : '';
      return `unknown ${noun} ${name}${hint}${known}`;
    }
    case 'missing':
      return `the ${noun} ${name} is missing`;
    case 'wrong':
      return `${name} must be ${expected}, not ${describeValue(given)}${hint}`;
    default:
      return kind satisfies never;
  }
}

/**
 * Quotes short values. For a long string, an array or an object, only says its type: it may be
 * content, and the sentence must stay short.
 */
function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (typeof value === 'number') return String(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string' && value.length <= MAX_QUOTED_CHARS) return quoted(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function quoted(value: unknown): string {
  return JSON.stringify(value);
}
