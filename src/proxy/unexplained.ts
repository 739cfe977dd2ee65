import type { Refusal } from '../model/verdict.ts';
import type { Call } from './call.ts';
import type { ForeignSession } from './foreign-session.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { commandOf } from './understand.ts';
import { readOnlyRefusal, unknownToolRefusal } from './unknown-refusal.ts';

/** What the policy for unknown tools says to a call, or that nothing may be changed, written into the journal; undefined: nothing against it. */
export async function judgeUnexplained(
  options: Pick<InterceptOptions, 'unknownTools' | 'catalogue' | 'shared'>,
  call: Call,
  session: ForeignSession,
): Promise<Refusal | undefined> {
  const what = commandOf(call.understanding, call.tool);
  if (what === undefined) return undefined;
  const { unknownTools, catalogue, shared } = options;
  const through =
    !session.readOnly &&
    (unknownTools === 'allow' ||
      (unknownTools === 'ask' && shared.asked.again(session.id, call.tool, call.args)));
  const done = through ? 'let through' : 'refused';
  await session.note(`${done}: ${what} of ${catalogue.serverName}, which no table describes`);
  if (through) return undefined;
  return session.readOnly ? readOnlyRefusal(call.tool) : unknownToolRefusal(call.tool, unknownTools);
}
