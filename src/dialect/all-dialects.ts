import { ANTHROPIC } from './anthropic.ts';
import { APPLY_PATCH } from './apply-patch.ts';
import type { DialectName } from './dialect-name.ts';
import { FILESYSTEM } from './filesystem/dialect.ts';
import { LACE } from './lace/dialect.ts';
import { LOOKFIRST } from './lookfirst/dialect.ts';
import { SANDBOX } from './sandbox.ts';
import { TEXT_EDITOR } from './text-editor.ts';
import type { Dialect } from './tool.ts';

/** All dialects, loaded together. A server loads only its own with `loadDialect`. */
export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  lookfirst: LOOKFIRST,
  sandbox: SANDBOX,
  lace: LACE,
  filesystem: FILESYSTEM,
  'apply-patch': APPLY_PATCH,
  'text-editor': TEXT_EDITOR,
  anthropic: ANTHROPIC,
};
