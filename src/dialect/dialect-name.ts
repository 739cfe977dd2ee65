/** Names for `--dialect`. */
export const DIALECT_NAMES = ['lookfirst', 'sandbox', 'lace', 'filesystem', 'apply-patch'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];
