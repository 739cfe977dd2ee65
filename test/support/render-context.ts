import type { RenderContext } from '../../src/dialect/render.ts';
import { LOOKFIRST_TOOLS } from '../../src/report/tool-names.ts';

/** A fixed moment in a workspace with two roots, for tests of the texts that tools return. */
export const RENDER_CONTEXT: RenderContext = {
  roots: ['/root', '/other'],
  tools: LOOKFIRST_TOOLS,
  wording: 'default',
  nowMs: 1_000_000,
};
