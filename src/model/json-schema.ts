import type { JsonRecord } from './record.ts';
import type { ObjectShape, Shape } from './shape.ts';

/**
 * The JSON Schema of a shape. A shape that only code can check (`tested`) becomes the empty schema,
 * which accepts every value.
 */
export function toJsonSchema(shape: ObjectShape): JsonRecord & { readonly type: 'object' };
export function toJsonSchema(shape: Shape): JsonRecord;
export function toJsonSchema(shape: Shape): JsonRecord {
  const { must: _, ...plain } = shape;
  switch (plain.type) {
    case 'array':
      return { ...plain, items: toJsonSchema(plain.items) };
    case 'object':
      return { ...plain, properties: mapped(plain.properties) };
    case 'map': {
      const { values, ...rest } = plain;
      return { ...rest, type: 'object', additionalProperties: toJsonSchema(values) };
    }
    case 'constant': {
      const { type: _type, values, ...rest } = plain;
      return values.length === 1 ? { ...rest, const: values[0] } : { ...rest, enum: values };
    }
    case 'either': {
      const { type: _type, shapes, ...rest } = plain;
      return { ...rest, anyOf: shapes.map((each) => toJsonSchema(each)) };
    }
    case 'variant': {
      const { type: _type, tag: _tag, variants, ...rest } = plain;
      return { ...rest, oneOf: Object.values(variants).map((each) => toJsonSchema(each)) };
    }
    case 'any': {
      const { type: _type, ...rest } = plain;
      return rest;
    }
    case 'tested': {
      const { type: _type, is: _is, ...rest } = plain;
      return rest;
    }
    default:
      return plain;
  }
}

function mapped(properties: ObjectShape['properties']): JsonRecord {
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, toJsonSchema(each)]));
}

/** The type of the values that a shape written as JSON Schema accepts. */
export type ValueOf<S> = S extends { type: 'string'; enum: readonly (infer E)[] }
  ? E
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'number' | 'integer' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : S extends { type: 'array'; items: infer I }
          ? readonly ValueOf<I>[]
          : S extends { type: 'object'; properties: infer P }
            ? Members<P, S extends { required: readonly (infer R)[] } ? R : never>
            : never;

type Members<P, Required> = {
  readonly [K in keyof P as K extends Required ? K : never]: ValueOf<P[K]>;
} & {
  readonly [K in keyof P as K extends Required ? never : K]?: ValueOf<P[K]>;
};

/**
 * Converts a schema for models that must give every argument (strict mode): optional arguments
 * become required and may be null, which `checkArguments` treats as absent. Defaults are omitted,
 * because strict mode forbids them.
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
