import type { ForeignSession } from '../model/foreign-session.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Call } from './call.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { commandOf } from './understand.ts';
import { readOnlyRefusal, unknownToolRefusal } from './unknown-refusal.ts';

/**
 * Why a call whose effects nobody has described is refused: by the policy for unknown tools, or because nothing may be
 * changed. Undefined if nothing is against it, or if its effects are known. The journal says what became of it.
 */
export async function judgeUnexplained(
  options: Pick<InterceptOptions, 'unknownTools' | 'catalogue' | 'shared'>,
  call: Call,
  session: ForeignSession,
): Promise<Refusal | undefined> {
  const { unknownTools, catalogue, shared } = options;
  const { understanding, tool } = call;
  // What a server says of its own tools is not proof: where nothing may be changed, a table must describe them.
  const isUnproven = understanding.guessed && (session.readOnly || unknownTools === 'deny');
  const what = commandOf(understanding, tool) ?? (isUnproven ? tool : undefined);
  if (what === undefined) return undefined;
  const through =
    !session.readOnly &&
    (unknownTools === 'allow' ||
      (unknownTools === 'ask' && shared.asked.again(session.id, call.tool, call.args)));
  const done = through ? 'let through' : 'refused';
  await session.note(`${done}: ${what} of ${catalogue.serverName}, which no table describes`);
  if (through) return undefined;
  return session.readOnly ? readOnlyRefusal(call.tool) : unknownToolRefusal(call.tool, unknownTools);
}
