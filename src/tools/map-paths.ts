import type { Call } from '../dialect/tool.ts';
import type { FileIntent } from '../model/intent.ts';

/** The members of operations and intents that contain paths. */
const PATHS: ReadonlySet<string> = new Set(['path', 'source', 'destination', 'moveTo']);

/** Applies `map` to every path in a call's arguments. */
export function withPaths(call: Call, map: (path: string) => string): Call {
  const operation: Record<string, unknown> = mapped(call.operation, map);
  const { paths, changes } = operation as { paths?: readonly string[]; changes?: readonly FileIntent[] };
  if (paths !== undefined) operation['paths'] = paths.map(map);
  if (changes !== undefined) operation['changes'] = changes.map((change) => mapped(change, map));
  // The cast is safe: only strings were replaced by strings.
  return { ...call, operation } as Call;
}

/** Makes a glob that begins with the virtual root relative to that root. */
export function withVirtualGlobs(call: Call, virtualRoot: string): Call {
  const start = virtualRoot.endsWith('/') ? virtualRoot : `${virtualRoot}/`;
  const isVirtual = (glob: string | undefined): glob is string => glob?.startsWith(start) === true;
  if (call.kind === 'find' && isVirtual(call.operation.pattern)) {
    const { pattern, path = virtualRoot } = call.operation;
    return { ...call, operation: { ...call.operation, pattern: pattern.slice(start.length), path } };
  }
  if (call.kind === 'search' && isVirtual(call.operation.glob)) {
    const { glob, path = virtualRoot } = call.operation;
    return { ...call, operation: { ...call.operation, glob: glob.slice(start.length), path } };
  }
  return call;
}

function mapped(value: object, map: (path: string) => string): Record<string, unknown> {
  const entries = Object.entries(value).map(([name, member]): [string, unknown] =>
    PATHS.has(name) && typeof member === 'string' ? [name, map(member)] : [name, member],
  );
  return Object.fromEntries(entries);
}
