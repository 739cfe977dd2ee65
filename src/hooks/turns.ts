import { randomBytes } from 'node:crypto';
import { pathText } from '../report/bounded.ts';
import { describeNotice } from '../report/describe-notice.ts';
import type { HookEvent, HookReply } from './event.ts';
import type { Scene } from './scene.ts';

/**
 * Handles a prompt of the user, which begins a turn. If other programs have changed files that the
 * session saw, one line of context names them.
 */
export async function promptSubmitted(
  scene: Scene,
  event: Extract<HookEvent, { kind: 'prompt' }>,
): Promise<HookReply> {
  const { session } = scene;
  // No call is under way while the user types.
  await session.settleLeft();
  await session.noteOutsideChanges();
  const changed = await session.outsideChangesOfTurn();
  const turn = event.turn ?? `t${randomBytes(5).toString('hex')}`;
  await session.beginTurn({ turn, prompt: event.prompt });
  followed.delete(session);
  const atWork = await session.othersAtWork();
  const lines = [
    ...(changed.length === 0 ? [] : [`changed by others since you read it: ${namesOf(changed)}.`]),
    ...(atWork === undefined ? [] : [describeNotice(atWork)]),
  ];
  return lines.length === 0
    ? { verdict: 'pass' }
    : { verdict: 'pass', context: `Lookfirst: ${lines.join('\n')}` };
}

function namesOf(changed: readonly string[]): string {
  const named = [...changed].sort().slice(0, MAX_NAMED).map(pathText);
  const more = changed.length > MAX_NAMED ? [`${changed.length - MAX_NAMED} more`] : [];
  return [...named, ...more].join(', ');
}

/** The number of names in one line of context; the rest is only counted. */
const MAX_NAMED = 20;

/**
 * The number of calls at the beginning of a turn that read the transcript: the client may write the
 * prompt a little later.
 */
const MAX_FOLLOWED = 3;
/** The number of calls of this turn that have read the transcript. */
const followed = new WeakMap<object, number>();

/**
 * Checks at the first calls after a prompt whether the client has cut off a part of the
 * conversation; that part no longer counts as seen. A sub-agent's events name the transcript of the
 * main conversation, which does not concern the sub-agent.
 */
export async function followTranscript({ session }: Scene, event: HookEvent): Promise<void> {
  const calls = followed.get(session) ?? 0;
  if (event.transcript === undefined || event.session.includes('/') || calls >= MAX_FOLLOWED) return;
  followed.set(session, calls + 1);
  await session.followTranscript(event.transcript);
}
