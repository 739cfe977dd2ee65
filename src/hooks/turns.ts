import { randomBytes } from 'node:crypto';
import type { Notice } from '../model/results.ts';
import { pathText } from '../report/bounded.ts';
import type { HookEvent, Reply } from './event.ts';
import type { Scene } from './scene.ts';

/**
 * The user has submitted a prompt: a turn begins. If files that the session has seen were changed by others since the last
 * turn, one line of context names them.
 */
export async function promptSubmitted(
  scene: Scene,
  event: Extract<HookEvent, { kind: 'prompt' }>,
): Promise<Reply> {
  const { session } = scene;
  // No call is under way while the user types.
  await session.settleLeft();
  const changed = await session.witness({ kind: 'command', command: '' });
  const turn = event.turn ?? `t${randomBytes(5).toString('hex')}`;
  await session.beginTurn({ turn, prompt: event.prompt });
  const paths = changed.ok ? changed.notices.flatMap((notice) => pathsIn(notice)) : [];
  if (paths.length === 0) return { verdict: 'pass' };
  const names = paths.map(pathText).join(', ');
  return { verdict: 'pass', context: `Lookfirst: changed by others since you read it: ${names}.` };
}

function pathsIn(notice: Notice): readonly string[] {
  if (notice.kind !== 'changed-seen-files') return [];
  return notice.cut === 0 ? notice.paths : [...notice.paths, `${notice.cut} more`];
}
