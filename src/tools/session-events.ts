import type { JsonRecord } from '../model/record.ts';
import type { Session } from '../model/session.ts';
import { MAX_SESSION_ID_CHARS } from '../model/session-id.ts';
import { isTurnId } from '../model/turn.ts';

/** The `_meta` key that reports a change of the model's context before the request. */
export const CONTEXT_KEY = 'dev.lookfirst/context';

/** The `_meta` key that names the request's turn. A turn is the work between two user prompts. */
export const TURN_KEY = 'dev.lookfirst/turn';

/** The notification that reports a compaction, like `CONTEXT_KEY` in a request. */
export const COMPACTED_METHOD = 'notifications/dev.lookfirst/compacted';

/** The session methods that apply events. */
type Told = Pick<Session, 'compacted' | 'beginTurn'>;

/** The events a request reports, or the reason its report is invalid. */
export type SessionEvents =
  | { readonly kind: 'none' }
  | { readonly kind: 'events'; readonly apply: (session: Told) => Promise<void> }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Parses the events in a request's `_meta`. */
export function eventsIn(meta: JsonRecord): SessionEvents {
  const context = meta[CONTEXT_KEY];
  const turn = meta[TURN_KEY];
  if (context === undefined && turn === undefined) return { kind: 'none' };
  if (context !== undefined && context !== 'compacted')
    return { kind: 'invalid', reason: `_meta["${CONTEXT_KEY}"] must be "compacted"` };
  if (turn !== undefined && !isTurnId(turn))
    return {
      kind: 'invalid',
      reason: `_meta["${TURN_KEY}"] must be a text of 1 to ${MAX_SESSION_ID_CHARS} printable characters`,
    };
  const apply = async (session: Told): Promise<void> => {
    if (context !== undefined) await session.compacted();
    if (turn !== undefined) await session.beginTurn({ turn });
  };
  return { kind: 'events', apply };
}
