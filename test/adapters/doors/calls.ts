import type { Call, Door } from '../conformance.ts';

/** The calls of Lookfirst's default tools. */
export const LOOKFIRST_CALLS: Door['calls'] & { readonly undo: Call } = {
  read: (path) => ({ tool: 'read_file', args: { path } }),
  write: (path, content) => ({ tool: 'write_file', args: { path, content } }),
  edit: (path, from, to) => ({ tool: 'edit_file', args: { path, old_string: from, new_string: to } }),
  undo: { tool: 'undo_change', args: {} },
};
