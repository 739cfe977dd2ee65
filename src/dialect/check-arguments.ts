import type { JsonSchema, ObjectSchema } from './schema.ts';

/** The known name most like a word, or undefined when none is near enough to be meant. */
export type Suggest = (word: string, known: readonly string[]) => string | undefined;

const MAX_NAME_CHARS = 60;

/** Says in a few words what is wrong with a tool's arguments, or undefined: nothing is ever ignored, filled in or converted. */
export function checkArguments(schema: ObjectSchema, args: unknown, suggest: Suggest): string | undefined {
  return checkObject(schema, args, { at: '', suggest });
}

interface Context {
  /** Where the value is: `changes[0].edits`, `''` for the arguments themselves. */
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
  const unknown = given.find(([name]) => !known.includes(name));
  if (unknown !== undefined) return unknownName(inside(unknown[0]), known, suggest(unknown[0], known));
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
