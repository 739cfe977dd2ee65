import type { DialectName } from './dialect-name.ts';
import type { Dialect } from './tool.ts';

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
    case 'apply-patch':
      return (await import('./apply-patch.ts')).APPLY_PATCH;
    case 'text-editor':
      return (await import('./text-editor.ts')).TEXT_EDITOR;
    case 'anthropic':
      return (await import('./anthropic.ts')).ANTHROPIC;
    default:
      return name satisfies never;
  }
}
