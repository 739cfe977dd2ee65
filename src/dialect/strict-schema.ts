import type { JsonRecord } from '../model/record.ts';
import type { JsonSchema, ObjectSchema } from './schema.ts';

/**
 * The same schema for models that must give every argument: each optional one is required and may be null, which
 * `checkArguments` takes as absence. Defaults are left out, as strict modes forbid them.
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
