import type { Call } from '../dialect/tool.ts';
import type { FileIntent } from '../model/intent.ts';

/** The members of operations and intents that are paths. */
const PATHS: ReadonlySet<string> = new Set(['path', 'source', 'destination']);

/** A call with every path that its arguments named replaced. */
export function withPaths(call: Call, map: (path: string) => string): Call {
  const operation: Record<string, unknown> = mapped(call.operation, map);
  const { paths, changes } = operation as { paths?: readonly string[]; changes?: readonly FileIntent[] };
  if (paths !== undefined) operation['paths'] = paths.map(map);
  if (changes !== undefined) operation['changes'] = changes.map((change) => mapped(change, map));
  // The same operation: only texts were replaced by texts.
  return { ...call, operation } as Call;
}

function mapped(value: object, map: (path: string) => string): Record<string, unknown> {
  const entries = Object.entries(value).map(([name, member]): [string, unknown] =>
    PATHS.has(name) && typeof member === 'string' ? [name, map(member)] : [name, member],
  );
  return Object.fromEntries(entries);
}
