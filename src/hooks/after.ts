import { answerFor } from '../dialect/calls/hosts/answers.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import { looksOf } from '../dialect/calls/touch.ts';
import { afterCommand } from './command.ts';
import type { HookEvent, Reply } from './event.ts';
import { callId, meaningOf, noticeText, type Scene, unjudged } from './scene.ts';

type AfterEvent = Extract<HookEvent, { kind: 'after' | 'failed' }>;

/** The host has carried out a call, or failed to: records what it showed and what it changed. */
export async function after(scene: Scene, event: AfterEvent): Promise<Reply> {
  const meaning = meaningOf(scene, event);
  if (meaning === undefined) return { verdict: 'pass' };
  const run = meaning.touches.find((touch) => touch.does === 'run');
  if (run !== undefined) return afterCommand(scene, event, run);
  if (event.kind === 'after') await noteReads(scene, event, meaning.touches);
  const changes = meaning.touches.flatMap((touch) => (touch.does === 'change' ? [touch.intent] : []));
  const [first] = changes;
  if (first === undefined) return { verdict: 'pass' };
  const path = first.kind === 'move' ? first.destination : first.path;
  const change = await scene.session.announcedAs(callId(event));
  if (change === undefined) {
    const isOurs = event.kind === 'after' && (await scene.session.resolve(path)).ok;
    return isOurs && !(await scene.session.isSettled(callId(event)))
      ? unjudged(scene, event, path)
      : { verdict: 'pass' };
  }
  const settled = await scene.session.settle(change, event.kind === 'after' ? 'done' : 'failed');
  const context = settled.ok ? noticeText(scene, settled.notices, path) : undefined;
  return context === undefined ? { verdict: 'pass' } : { verdict: 'pass', context };
}

async function noteReads(
  scene: Scene,
  event: Extract<AfterEvent, { kind: 'after' }>,
  touches: NonNullable<ReturnType<typeof meaningOf>>['touches'],
): Promise<void> {
  const foreign = scene.session.foreign();
  const answer = answerFor(scene.host.name, event.response);
  for (const path of looksOf(touches))
    if ((await scene.session.resolve(path)).ok)
      await foreign.witness({ kind: 'look', path, shown: answer.texts?.join('\n') ?? '' });
  for (const shown of shownLines(touches, answer)) {
    const { path, content, ranges, clamped, redacted } = shown;
    if (!(await scene.session.resolve(path)).ok) continue;
    await foreign.witness({
      kind: 'read',
      path,
      ...(content === undefined ? {} : { content }),
      ...(ranges === undefined ? {} : { ranges }),
      ...(clamped === undefined ? {} : { clamped }),
      ...(redacted === undefined ? {} : { redacted }),
    });
  }
}
