import { toJsonSchema } from '../model/json-schema.ts';
import type { JsonRecord } from '../model/record.ts';
import type { ObjectShape, Shape } from '../model/shape.ts';

/**
 * Converts a schema for models that must give every argument: optional arguments become required and may be
 * null, which `checkArguments` treats as absent. Defaults are omitted, because strict modes forbid them.
 */
export function strictSchema(schema: ObjectShape): JsonRecord & { readonly type: 'object' } {
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

function strictMember(shape: Shape): JsonRecord {
  if (shape.type === 'object') return strictSchema(shape);
  const { default: _, ...rest } = toJsonSchema(shape);
  return shape.type === 'array' ? { ...rest, items: strictMember(shape.items) } : rest;
}

function orNull(schema: JsonRecord): JsonRecord {
  const { type, enum: values } = schema;
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}
