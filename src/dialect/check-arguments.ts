import { isRecord, type JsonRecord } from '../model/record.ts';
import { checkShape, mismatchText, type ObjectShape, type Shape } from '../model/shape.ts';

/** Arguments in the form of the schema, or the problem in a few words. */
export type CheckedArguments = { readonly args: JsonRecord } | { readonly reason: string };

/** Whether an argument that the schema does not name is an error or is dropped. */
export type UnknownArguments = 'refuse' | 'ignore';

/**
 * Checks a tool's arguments. It first accepts forms that models and strict schemas produce: `null` for an absent
 * optional argument, a string for an integer, and JSON text for an array or object.
 */
export function checkArguments(
  schema: ObjectShape,
  given: unknown,
  unknown: UnknownArguments,
): CheckedArguments {
  const args = accepted(schema, given, unknown);
  const [mismatch] = checkShape(schema, args);
  if (mismatch !== undefined)
    return { reason: mismatchText(mismatch, { noun: 'argument', whole: 'the arguments' }) };
  // `checkShape` has found an object.
  return { args: args as JsonRecord };
}

function accepted(schema: Shape, value: unknown, unknown: UnknownArguments): unknown {
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

function acceptedMembers(schema: ObjectShape, members: JsonRecord, unknown: UnknownArguments): JsonRecord {
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
