import { answerFor } from '../dialect/calls/hosts/answers.ts';
import { searchedLines } from '../dialect/calls/shown/output-lines.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import { looksOf } from '../dialect/calls/touch.ts';
import type { Notice, WitnessEvent } from '../model/results.ts';
import { strayWrites } from './before.ts';
import { afterCommand } from './command.ts';
import type { HookEvent, HookReply } from './event.ts';
import { callId, isOwnTool, meaningOf, noticeText, pathOf, type Scene, unjudged } from './scene.ts';

type AfterEvent = Extract<HookEvent, { kind: 'after' | 'failed' }>;

/** Handles the end of a call that the host has made: records what the call showed and changed. */
export async function after(scene: Scene, event: AfterEvent): Promise<HookReply> {
  const meaning = meaningOf(scene, event);
  if (meaning === undefined) return endOwnCall(scene, event);
  const run = meaning.touches.find((touch) => touch.does === 'run');
  if (run !== undefined) return afterCommand(scene, event, run);
  const claims = event.kind === 'after' ? await noteReads(scene, event, meaning.touches) : [];
  if (event.kind === 'after') await noteHits(scene, event, meaning.touches);
  const changes = meaning.touches.flatMap((touch) => (touch.does === 'change' ? [touch.intent] : []));
  const [first] = changes;
  if (first === undefined) return told(scene, claims, '');
  const path = first.kind === 'move' ? first.destination : first.path;
  const change = await scene.session.announcedAs(callId(event));
  if (change === undefined) {
    const isOurs = event.kind === 'after' && (await scene.session.resolve(path)).ok;
    return isOurs && !(await scene.session.isSettled(callId(event)))
      ? unjudged(scene, event, path)
      : { verdict: 'pass' };
  }
  const settled = await scene.session.settle(change, event.kind === 'after' ? 'done' : 'failed');
  const stray = scene.host.contextBefore ? [] : await strayWrites(scene, changes);
  return told(scene, [...claims, ...stray, ...(settled.ok ? settled.notices : [])], path);
}

function told(scene: Scene, notices: readonly Notice[], path: string): HookReply {
  const context = noticeText(scene, notices, path);
  return context === undefined ? { verdict: 'pass' } : { verdict: 'pass', context };
}

/** Ends a call to our own server that was announced for a sub-agent. The server has recorded its effects. */
async function endOwnCall({ session }: Scene, event: AfterEvent): Promise<HookReply> {
  const change = isOwnTool(event) ? await session.announcedAs(callId(event)) : undefined;
  if (change !== undefined) await session.settle(change, 'done');
  return { verdict: 'pass' };
}

type Touches = NonNullable<ReturnType<typeof meaningOf>>['touches'];

/** Records the lines that a search shows as seen, if they are in the files. */
async function noteHits(
  scene: Scene,
  event: Extract<AfterEvent, { kind: 'after' }>,
  touches: Touches,
): Promise<void> {
  const foreign = scene.session.foreign();
  const text = answerFor(scene.host.name, event.response).texts?.join('\n') ?? '';
  for (const touch of touches) {
    if (touch.does !== 'search' || text === '') continue;
    for (const [path, lines] of searchedLines(text, touch.path)) {
      await foreign.witnessOutput(pathOf(scene, path), lines);
      // Some programs print paths relative to the folder that was searched.
      if (touch.path !== undefined && touch.path !== path && !path.startsWith('/'))
        await foreign.witnessOutput(pathOf(scene, `${touch.path}/${path}`), lines);
    }
  }
}

async function noteReads(
  scene: Scene,
  event: Extract<AfterEvent, { kind: 'after' }>,
  touches: Touches,
): Promise<readonly Notice[]> {
  const notices: Notice[] = [];
  const foreign = scene.session.foreign();
  const answer = answerFor(scene.host.name, event.response);
  for (const path of looksOf(touches))
    if ((await scene.session.resolve(path)).ok)
      await foreign.witness({ kind: 'look', path, shown: answer.texts?.join('\n') ?? '' });
  for (const shown of shownLines(touches, answer)) {
    if (!(await scene.session.resolve(shown.path)).ok) continue;
    const witnessed = await foreign.witness(readEvent(shown));
    if (witnessed.ok) notices.push(...witnessed.notices);
  }
  return notices;
}

function readEvent({
  path,
  content,
  ranges,
  clamped,
  redacted,
}: ReturnType<typeof shownLines>[number]): WitnessEvent {
  return {
    kind: 'read',
    path,
    ...(content === undefined ? {} : { content }),
    ...(ranges === undefined ? {} : { ranges }),
    ...(clamped === undefined ? {} : { clamped }),
    ...(redacted === undefined ? {} : { redacted }),
  };
}
