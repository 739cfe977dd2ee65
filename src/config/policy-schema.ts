import { BYPASS_PARTS, POLICY_FIELDS, type PolicyField, PRESET_FIELD, PROXY_FIELD } from './policy-fields.ts';

/** The JSON schema of a policy file, from the same table that checks it; for editors and documentation. */
export function policySchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Lookfirst policy',
    ...schemaOf({
      kind: 'object',
      fields: {
        $schema: { kind: 'choice', values: [] },
        preset: PRESET_FIELD,
        proxy: PROXY_FIELD,
        ...POLICY_FIELDS,
      },
    }),
  };
}

const GLOBS = { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 };
const BYPASS_RULE = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  properties: Object.fromEntries(BYPASS_PARTS.map((part) => [part, GLOBS])),
};

function schemaOf(field: PolicyField): Record<string, unknown> {
  switch (field.kind) {
    case 'choice':
      return field.values.length === 0 ? { type: 'string' } : { type: 'string', enum: field.values };
    case 'boolean':
      return { type: 'boolean' };
    case 'integer':
      return { type: 'integer', minimum: field.min };
    case 'globs':
      return { type: 'array', items: { type: 'string', minLength: 1 } };
    case 'bypass':
      return { type: 'array', items: { anyOf: [{ type: 'string', minLength: 1 }, BYPASS_RULE] } };
    case 'list':
      return { type: 'array' };
    case 'object':
      return {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(
          Object.entries(field.fields).map(([name, inner]) => [name, schemaOf(inner)]),
        ),
      };
    default:
      return field satisfies never;
  }
}
