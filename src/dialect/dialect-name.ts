/** Names for `--dialect`. */
export const DIALECT_NAMES = [
  'lookfirst',
  'sandbox',
  'lace',
  'filesystem',
  'apply-patch',
  'text-editor',
  'anthropic',
] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];
