import { pathsOfTouch } from '../dialect/calls/touch.ts';
import type { Refusal } from '../model/verdict.ts';
import { paramsOf } from '../wire/rpc.ts';
import type { ProxyCall } from './call.ts';
import { givenPaths } from './understand.ts';

/**
 * The call without the files that it may not read. Undefined if the call does more than read the
 * files of one list, or if no file would be left: the gate then refuses the whole call.
 */
export function withoutFiles(call: ProxyCall, leftOut: ReadonlyMap<string, Refusal>): ProxyCall | undefined {
  const { meaning, message } = call;
  const list = fileListOf(call);
  const items = list === undefined ? undefined : call.args[list];
  const left = Array.isArray(items) ? items.filter((item) => !leftOut.has(item)) : [];
  if (list === undefined || left.length === 0) return undefined;
  const touches = meaning.touches.filter((touch) => pathsOfTouch(touch).every((path) => !leftOut.has(path)));
  const args = { ...call.args, [list]: left };
  return {
    ...call,
    args,
    message: { ...message, params: { ...paramsOf(message), arguments: args } },
    meaning: { ...meaning, touches },
  };
}

/** The argument that lists the files, for a call that only reads files. Undefined if there is no such argument. */
function fileListOf({ meaning, args }: ProxyCall): string | undefined {
  const { touches, unexplained } = meaning;
  if (unexplained || !touches.every(({ does }) => does === 'read' || does === 'look')) return undefined;
  const given = new Set(givenPaths(meaning));
  const lists = Object.keys(args).filter((key) => {
    const list = args[key];
    return Array.isArray(list) && list.length > 1 && list.every((item) => given.has(item));
  });
  return lists.length === 1 ? lists[0] : undefined;
}
