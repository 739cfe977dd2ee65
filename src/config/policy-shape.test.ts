import { describe, expect, it } from 'vitest';
import { POLICY_FIELDS, policySchema } from './policy-shape.ts';

describe('the schema of a policy file', () => {
  it('knows every field, and no other', () => {
    const schema = policySchema();
    expect(schema).toMatchObject({
      type: 'object',
      additionalProperties: false,
      properties: {
        staleness: { type: 'string', enum: ['refuse', 'merge', 'confirm', 'warn', 'off'] },
        ttlMs: { type: 'integer', minimum: 0 },
        readOnly: { type: 'boolean' },
        protected: { type: 'array', items: { type: 'string', minLength: 1 } },
        journal: { type: 'object', additionalProperties: false, properties: { quotaBytes: {} } },
      },
    });
    expect(Object.keys(Object(schema['properties'])).sort()).toEqual(
      ['$schema', 'preset', 'proxy', ...Object.keys(POLICY_FIELDS)].sort(),
    );
  });
});
