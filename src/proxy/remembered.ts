import type { ForeignSession } from '../model/foreign-session.ts';
import type { JsonRecord } from '../model/record.ts';

type Choice = (meta: JsonRecord) => ForeignSession | Promise<ForeignSession>;

/** Choices kept; a client that sends something new with every call is asked about every time. */
const KEPT = 100;

/**
 * A choice of sessions that answers at once where it has answered before: the same `_meta` means the same session. A
 * progress token is the call's own and decides nothing.
 */
export function remembered(choose: Choice): Choice {
  const known = new Map<string, ForeignSession>();
  return (meta) => {
    const { progressToken: _own, ...rest } = meta;
    const key = JSON.stringify(rest);
    const before = known.get(key);
    if (before !== undefined) return before;
    const chosen = choose(meta);
    if (!(chosen instanceof Promise)) return chosen;
    return chosen.then((session) => {
      const [oldest] = known.keys();
      if (known.size >= KEPT && oldest !== undefined) known.delete(oldest);
      known.set(key, session);
      return session;
    });
  };
}
