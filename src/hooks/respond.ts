import { after } from './after.ts';
import { before } from './before.ts';
import type { HookEvent, HookReply } from './event.ts';
import type { Scene } from './scene.ts';
import { followTranscript, promptSubmitted } from './turns.ts';

export async function respond(scene: Scene, event: HookEvent): Promise<HookReply> {
  const { session } = scene;
  switch (event.kind) {
    case 'before':
      await continueTurn(scene, event);
      await followTranscript(scene, event);
      return before(scene, event);
    case 'after':
    case 'failed':
      await followTranscript(scene, event);
      return after(scene, event);
    case 'prompt':
      return promptSubmitted(scene, event);
    case 'start':
      await session.settleLeft();
      if (event.source === 'resumed') await session.resumed();
      if (event.source === 'cleared') await session.forget();
      break;
    case 'compacted':
      await session.compacted();
      break;
    case 'turn-end':
    case 'agent-stop':
      await session.settleLeft();
      await session.noteOutsideChanges();
      await session.endTurn();
      break;
    case 'worktree-removed':
      await session.releaseWithin(event.worktree);
      break;
    case 'end':
      await session.settleLeft();
      await session.close();
      break;
    case 'agent-start':
    case 'other':
      break;
    default:
      return event satisfies never;
  }
  return { verdict: 'pass' };
}

/** Hosts name the turn in every event, and a prompt may have been submitted before the hooks were configured. */
async function continueTurn({ session }: Scene, { turn }: HookEvent): Promise<void> {
  if (turn !== undefined) await session.beginTurn({ turn });
}
