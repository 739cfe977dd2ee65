/** Names for `--dialect`. */
export const DIALECT_NAMES = ['lookfirst', 'sandbox', 'lace', 'filesystem'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];
