import type { JsonRecord } from '../model/record.ts';
import type { JsonSchema, ObjectSchema } from './schema.ts';

/**
 * Converts a schema for models that must give every argument: optional arguments become required and may be
 * null, which `checkArguments` treats as absent. Defaults are omitted, because strict modes forbid them.
 */
export function strictSchema(schema: ObjectSchema): JsonRecord & { readonly type: 'object' } {
  const { properties, required = [], description } = schema;
  const members = Object.entries(properties).map(([name, member]) => {
    const strict = strictMember(member);
    return [name, required.includes(name) ? strict : orNull(strict)];
  });
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties: Object.fromEntries(members),
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function strictMember(schema: JsonSchema): JsonRecord {
  if (schema.type === 'object') return strictSchema(schema);
  const { default: _, ...rest } = schema;
  return rest.type === 'array' ? { ...rest, items: strictMember(rest.items) } : rest;
}

function orNull(schema: JsonRecord): JsonRecord {
  const { type, enum: values } = schema;
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}
