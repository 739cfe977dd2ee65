import { isRecord, type JsonRecord } from '../model/record.ts';
import type { JsonSchema, ObjectSchema } from './schema.ts';

/** The known name most similar to a word; undefined if none is similar enough. */
type Suggest = (word: string, known: readonly string[]) => string | undefined;

const MAX_NAME_CHARS = 60;

/** Arguments in the form of the schema, or the problem in a few words. */
export type CheckedArguments =
  | { readonly args: Readonly<Record<string, unknown>> }
  | { readonly reason: string };

export interface CheckOptions {
  readonly suggest: Suggest;
  /** Whether an argument that the schema does not name is an error or is dropped. */
  readonly unknown: UnknownArguments;
}

export type UnknownArguments = 'refuse' | 'ignore';

/**
 * Checks a tool's arguments. It first accepts forms that models and strict schemas produce: `null` for an absent
 * optional argument, a string for an integer, and JSON text for an array or object.
 */
export function checkArguments(
  schema: ObjectSchema,
  given: unknown,
  { suggest, unknown }: CheckOptions,
): CheckedArguments {
  const args = accepted(schema, given, unknown);
  const reason = checkObject(schema, args, { at: '', suggest });
  // The check above has found an object.
  return reason === undefined ? { args: args as Readonly<Record<string, unknown>> } : { reason };
}

function accepted(schema: JsonSchema, value: unknown, unknown: UnknownArguments): unknown {
  switch (schema.type) {
    case 'number':
    case 'integer':
      return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    case 'array': {
      const list = typeof value === 'string' ? parsed(value) : value;
      return Array.isArray(list) ? list.map((item) => accepted(schema.items, item, unknown)) : value;
    }
    case 'object': {
      const members = typeof value === 'string' ? parsed(value) : value;
      return isRecord(members) ? acceptedMembers(schema, members, unknown) : value;
    }
    default:
      return value;
  }
}

function acceptedMembers(schema: ObjectSchema, members: JsonRecord, unknown: UnknownArguments): JsonRecord {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) {
    const expected = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    const optional = expected !== undefined && schema.required?.includes(name) !== true;
    if (optional && value === null) continue;
    if (expected !== undefined) kept[name] = accepted(expected, value, unknown);
    else if (unknown === 'refuse') kept[name] = value;
  }
  return kept;
}

/** Parses JSON text; undefined if it is invalid. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Context {
  /** The position of the value: `changes[0].edits`, or `''` for the arguments themselves. */
  readonly at: string;
  readonly suggest: Suggest;
}

function check(schema: JsonSchema, value: unknown, context: Context): string | undefined {
  switch (schema.type) {
    case 'string':
      if (typeof value !== 'string') return wrongType('a string', value, context);
      return schema.enum === undefined || schema.enum.includes(value)
        ? undefined
        : `${quoted(context.at)} must be one of ${schema.enum.map(quoted).join(', ')}, not ${quoted(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrongType('true or false', value, context);
    case 'number':
    case 'integer':
      return checkNumber(schema, value, context);
    case 'array':
      return checkArray(schema, value, context);
    case 'object':
      return checkObject(schema, value, context);
    default:
      return schema satisfies never;
  }
}

function checkNumber(
  schema: Extract<JsonSchema, { type: 'number' | 'integer' }>,
  value: unknown,
  context: Context,
): string | undefined {
  const whole = schema.type === 'integer';
  if (typeof value !== 'number') return wrongType(whole ? 'a whole number' : 'a number', value, context);
  if (!Number.isFinite(value) || (whole && !Number.isSafeInteger(value)))
    return `${quoted(context.at)} must be a ${whole ? 'whole ' : ''}number, not ${value}`;
  if (schema.minimum !== undefined && value < schema.minimum)
    return `${quoted(context.at)} must be at least ${schema.minimum}, not ${value}`;
  if (schema.maximum !== undefined && value > schema.maximum)
    return `${quoted(context.at)} must be at most ${schema.maximum}, not ${value}`;
  return undefined;
}

function checkArray(
  schema: Extract<JsonSchema, { type: 'array' }>,
  value: unknown,
  context: Context,
): string | undefined {
  if (!Array.isArray(value)) return wrongType('an array', value, context);
  if (value.length < (schema.minItems ?? 0))
    return `${quoted(context.at)} must have at least ${schema.minItems} entries, not ${value.length}`;
  for (const [index, item] of value.entries()) {
    const problem = check(schema.items, item, { ...context, at: `${context.at}[${index}]` });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkObject(schema: ObjectSchema, value: unknown, context: Context): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrongType('an object', value, context);
  const { at, suggest } = context;
  const inside = (name: string): string => (at === '' ? name : `${at}.${name}`);
  const known = Object.keys(schema.properties);
  const given = Object.entries(value);
  const stranger = given.find(([name]) => !known.includes(name));
  if (stranger !== undefined) return unknownName(inside(stranger[0]), known, suggest(stranger[0], known));
  const missing = schema.required?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `the argument ${quoted(inside(missing))} is missing`;
  for (const [name, member] of given) {
    const expected = schema.properties[name];
    const problem = expected && check(expected, member, { at: inside(name), suggest });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function unknownName(name: string, known: readonly string[], near: string | undefined): string {
  const hint = near === undefined ? '' : `; did you mean ${quoted(near)}?`;
  const names = known.length === 0 ? 'there are no arguments' : `known are ${known.join(', ')}`;
  return `unknown argument ${quoted(name)}${hint === '' ? ` (${names})` : hint}`;
}

function wrongType(expected: string, value: unknown, { at }: Context): string {
  const what = at === '' ? 'the arguments' : quoted(at);
  return `${what} must be ${expected}, not ${kindOf(value)}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_NAME_CHARS ? `${text.slice(0, MAX_NAME_CHARS - 1)}…` : text);
}
