import type { Dialect } from './tool.ts';

/** Names for `--dialect`. */
export const DIALECT_NAMES = ['lookfirst', 'sandbox', 'lace', 'filesystem'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

/** Loads one dialect and none of the others. */
export async function loadDialect(name: DialectName): Promise<Dialect> {
  switch (name) {
    case 'lookfirst':
      return (await import('./lookfirst/dialect.ts')).LOOKFIRST;
    case 'sandbox':
      return (await import('./sandbox.ts')).SANDBOX;
    case 'lace':
      return (await import('./lace/dialect.ts')).LACE;
    case 'filesystem':
      return (await import('./filesystem/dialect.ts')).FILESYSTEM;
    default:
      return name satisfies never;
  }
}
