import type { JsonRecord } from '../model/record.ts';
import type { Session } from '../model/session.ts';
import { MAX_SESSION_ID_CHARS } from '../model/session-id.ts';
import { isTurnId } from '../model/turn.ts';

/** Where a request says what happened to the model's context before it. */
export const CONTEXT_KEY = 'dev.lookfirst/context';

/** Where a request names the turn it belongs to: what happens between two user prompts. */
export const TURN_KEY = 'dev.lookfirst/turn';

/** The notification that says the same as `CONTEXT_KEY` by itself. */
export const COMPACTED_METHOD = 'notifications/dev.lookfirst/compacted';

/** Whose conversation it is. */
type Told = Pick<Session, 'compacted' | 'beginTurn'>;

/** What happened in a conversation before a request, or what is wrong with how the request says it. */
export type SessionEvents =
  | { readonly kind: 'none' }
  | { readonly kind: 'events'; readonly apply: (session: Told) => Promise<void> }
  | { readonly kind: 'invalid'; readonly reason: string };

/** The events that a request's `_meta` reports. */
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
