import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import type { HostName } from '../config/hook-flags.ts';
import { answerFor, outputIn } from '../dialect/calls/hosts/answers.ts';
import { searchedLines } from '../dialect/calls/shown/output-lines.ts';
import { shownLines } from '../dialect/calls/shown/shown.ts';
import { looksOf } from '../dialect/calls/touch.ts';
import type { HostIntent } from '../model/intent.ts';
import { defined } from '../model/record.ts';
import type { Notice, WitnessEvent } from '../model/results.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import { pathText } from '../report/bounded.ts';
import { describeNotice } from '../report/describe-notice.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { afterCommand, beforeCommand } from './command.ts';
import type { HookEvent, HookReply, ToolCall } from './event.ts';
import { HOOK_HOSTS } from './hosts/hook-hosts.ts';
import { guardRefusal } from './operator.ts';
import {
  callId,
  type Denial,
  denied,
  deniedByUser,
  deniedOutside,
  intentPaths,
  isOwnTool,
  meaningOf,
  noticeText,
  outsideRefusal,
  passing,
  pathOf,
  type Scene,
  TurnNotes,
  unjudged,
} from './scene.ts';

export async function respond(scene: Scene, event: HookEvent): Promise<HookReply> {
  const reply = await respondTo(scene, event);
  const isRead = event.kind === 'prompt' || event.kind === 'after' || event.kind === 'failed';
  if (!isRead || reply.verdict === 'deny') return reply;
  const losses = await scene.session.untoldLosses();
  return losses.length === 0 ? reply : passing(reply.context, `Lookfirst: ${losses.join('\n')}`);
}

async function respondTo(scene: Scene, event: HookEvent): Promise<HookReply> {
  const { session } = scene;
  switch (event.kind) {
    case 'before':
      await continueTurn(scene, event);
      await followTranscript(scene, event);
      return before(scene, event);
    case 'after':
    case 'failed':
      await session.continueTurn();
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
    case 'rewound':
      await session.rewoundBefore(event.before);
      break;
    case 'turn-end':
    case 'agent-stop':
      await session.settleLeft();
      await session.noteOutsideChanges();
      await session.endTurn();
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

/**
 * Begins or continues the turn of an event. If the event names a new turn, the turn begins, even if
 * its prompt was not reported. If the event names none, the newest turn in the journal continues.
 */
async function continueTurn({ session, turns }: Scene, { turn }: HookEvent): Promise<void> {
  if (turn !== undefined && !turns.continuesAs(session, turn)) await session.beginTurn({ turn });
  else await session.continueTurn();
}

type AfterEvent = Extract<HookEvent, { kind: 'after' | 'failed' }>;

/** Handles the end of a call that the host has made: records what the call showed and changed. */
async function after(scene: Scene, event: AfterEvent): Promise<HookReply> {
  const meaning = meaningOf(scene, event);
  if (meaning === undefined) return endOwnCall(scene, event);
  const run = meaning.touches.find((touch) => touch.does === 'run');
  if (run !== undefined) return afterCommand(scene, event, run);
  const claims = event.kind === 'after' ? await noteReads(scene, event, meaning.touches) : [];
  if (event.kind === 'after') await noteHits(scene, event, meaning.touches);
  const changes = meaning.touches.flatMap((touch) => (touch.does === 'change' ? [touch.intent] : []));
  const [first] = changes;
  if (first === undefined) return passing(noticeText(scene, event, { notices: claims, path: '' }));
  const path = first.kind === 'move' ? first.destination : first.path;
  const settled = await settleCall(scene, event, changes);
  if (settled === undefined) {
    const isOurs = event.kind === 'after' && (await scene.session.resolve(path)).ok;
    return isOurs && !(await scene.session.isSettled(callId(event)))
      ? unjudged(scene, event, path)
      : { verdict: 'pass' };
  }
  const stray = scene.host.contextBefore ? [] : await strayWrites(scene, changes);
  return passing(noticeText(scene, event, { notices: [...claims, ...stray, ...settled], path }));
}

/** Records the results of all changes that were announced for a call. Undefined if there are none. */
async function settleCall(
  { session }: Scene,
  event: AfterEvent,
  changes: readonly HostIntent[],
): Promise<readonly Notice[] | undefined> {
  const mayLeave = changes.some(({ kind }) => kind === 'move');
  const notices: Notice[] = [];
  let isFound = false;
  for (const id of mayLeave ? [callId(event), leavingId(event)] : [callId(event)]) {
    const change = await session.announcedAs(id);
    if (change === undefined) continue;
    isFound = true;
    const settled = await session.settle(change, event.kind === 'after' ? 'done' : 'failed');
    if (settled.ok) notices.push(...settled.notices);
  }
  return isFound ? notices : undefined;
}

/**
 * Ends a sub-agent's call to our own MCP server. The hook recorded the call only to tell the server
 * which sub-agent makes it. The server itself has recorded the effects.
 */
async function endOwnCall({ session }: Scene, event: AfterEvent): Promise<HookReply> {
  const change = isOwnTool(event) ? await session.announcedAs(callId(event)) : undefined;
  if (change !== undefined) await session.settle(change, 'done');
  return { verdict: 'pass' };
}

type Touches = NonNullable<ReturnType<typeof meaningOf>>['touches'];

/** Makes the lines that a search shows count as seen, if the files contain these lines. */
async function noteHits(
  scene: Scene,
  event: Extract<AfterEvent, { kind: 'after' }>,
  touches: Touches,
): Promise<void> {
  const host = scene.session.forHost();
  const text = outputIn(answerFor(scene.host.name, event.response));
  for (const touch of touches) {
    if (touch.does !== 'search' || text === '') continue;
    for (const [path, lines] of searchedLines(text, touch.path)) {
      // Try the path in the searched folder too: some programs print paths relative to that folder.
      const isRelative = touch.path !== undefined && touch.path !== path && !path.startsWith('/');
      const names = [path, ...(isRelative ? [`${touch.path}/${path}`] : [])];
      // A set, because the path as printed and the path inside the searched folder can lead to the
      // same file.
      const files = new Set(names.map((name) => resolve(scene.cwd, pathOf(scene, name))));
      for (const file of files) await host.witnessOutput({ path: file, output: lines });
    }
  }
}

async function noteReads(
  scene: Scene,
  event: Extract<AfterEvent, { kind: 'after' }>,
  touches: Touches,
): Promise<readonly Notice[]> {
  const notices: Notice[] = [];
  const host = scene.session.forHost();
  const answer = answerFor(scene.host.name, event.response);
  for (const path of looksOf(touches))
    if ((await scene.session.resolve(path)).ok)
      await host.witness({ kind: 'look', path, shown: answer.texts?.join('\n') ?? '' });
  for (const shown of shownLines(touches, answer)) {
    if (!(await scene.session.resolve(shown.path)).ok) continue;
    const clamped = event.isPartial === true ? { clamped: true as const } : {};
    const witnessed = await host.witness(readEvent({ ...shown, ...clamped }));
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
    ...defined({ content, ranges, clamped, redacted }),
  };
}

/**
 * Handles a prompt of the user, which begins a turn. The context of the reply names the files that
 * the session saw and that other programs have changed since. It also says if other sessions are at
 * work.
 */
async function promptSubmitted(
  scene: Scene,
  event: Extract<HookEvent, { kind: 'prompt' }>,
): Promise<HookReply> {
  const { session, turns } = scene;
  if (AUTOMATIC.test(event.prompt) && event.turn !== undefined) {
    turns.continueAs(session, event.turn);
    await session.continueTurn();
    return { verdict: 'pass' };
  }
  // Record the changes whose end no hook has reported. No call runs while the user types, so these
  // changes have ended.
  await session.settleLeft();
  await session.noteOutsideChanges();
  const changed = await session.outsideChangesOfTurn();
  const turn = event.turn ?? `t${randomBytes(5).toString('hex')}`;
  await session.beginTurn({ turn, prompt: event.prompt });
  turns.begin(session, turn);
  const atWork = await session.othersAtWork();
  const lines = [
    ...(changed.length === 0 ? [] : [`changed by others since you read it: ${namesOf(changed)}.`]),
    ...(atWork === undefined ? [] : [describeNotice(atWork)]),
  ];
  const untold = turns.untold(session, turn, lines);
  return passing(untold.length === 0 ? undefined : `Lookfirst: ${untold.join('\n')}`);
}

function namesOf(changed: readonly string[]): string {
  const named = [...changed].sort().slice(0, MAX_NAMED).map(pathText);
  const more = changed.length > MAX_NAMED ? [`${changed.length - MAX_NAMED} more`] : [];
  return [...named, ...more].join(', ');
}

/** The maximum number of file names in one line of context; the rest is only counted. */
const MAX_NAMED = 20;

/** Matches a prompt that Claude Code itself submits when a background task ends. It begins no turn of the user. */
const AUTOMATIC = /^\s*<task-notification>/;

/**
 * If the client has cut off a part of the conversation, that part no longer counts as seen. Checks
 * this only at the first calls after a prompt. Skips sub-agents, whose events name the transcript
 * of the main conversation.
 */
async function followTranscript({ session, turns }: Scene, event: HookEvent): Promise<void> {
  if (event.transcript === undefined || event.session.includes('/')) return;
  if (turns.mayFollow(session)) await session.followTranscript(event.transcript);
}

/**
 * Hooks for a program that opens its sessions itself. They need no process, socket or
 * configuration.
 */
export function hooksInProcess(
  name: HostName,
): (session: GatedSession, event: HookEvent) => Promise<HookReply> {
  const turns = new TurnNotes();
  const host = HOOK_HOSTS[name];
  return (session, event) => {
    const { policy, roots, home } = session;
    const cwd = resolve(roots[0] ?? '/', event.cwd ?? '.');
    const userHome = process.env['HOME'];
    const arrivedMs = Date.now();
    const scene = { host, session, policy, roots, cwd, home, userHome, turns, arrivedMs };
    return respond({ ...scene, shell: 'plain' }, event);
  };
}

const PASS: HookReply = { verdict: 'pass' };

/**
 * Handles a call that the host is about to make. Judges the changes and saves the bytes that the
 * call would replace. Takes no lock, because the host may wait for its user or never make the call.
 */
async function before(scene: Scene, event: Extract<HookEvent, { kind: 'before' }>): Promise<HookReply> {
  const meaning = meaningOf(scene, event);
  if (meaning === undefined) {
    if (isOwnTool(event) && event.session.includes('/')) await scene.session.announceOwnCall(callId(event));
    return PASS;
  }
  const run = meaning.touches.find((touch) => touch.does === 'run');
  if (run?.unclear === true) return incomprehensible(scene, event, 'run');
  if (run !== undefined) return beforeCommand(scene, event, run);
  const intents = meaning.touches.flatMap((touch) => (touch.does === 'change' ? [touch.intent] : []));
  if (intents.length === 0) return meaning.unexplained ? incomprehensible(scene, event, 'overwrite') : PASS;
  const { inside, leaving, outside } = await insideAndOutside(scene, intents);
  const forbidden = await forbiddenBy(scene, intents, outside);
  if (forbidden !== undefined) return forbidden;
  const stray = scene.host.contextBefore ? await strayWrites(scene, intents) : [];
  const announced = inside.length === 0 ? [] : await announceInside(scene, event, inside);
  if ('verdict' in announced) return announced;
  if (leaving.length > 0) await scene.session.announceObserved(leaving, leavingId(event));
  const notices = [...stray, ...announced];
  return passing(noticeText(scene, event, { notices, path: pathOfIntent(inside[0]) }));
}

/**
 * Judges the changes inside the workspace and saves the bytes that they would destroy. Returns the
 * notices for the model, or the denial. If the policy only observes, refused changes pass too.
 */
async function announceInside(
  scene: Scene,
  event: ToolCall,
  inside: readonly HostIntent[],
): Promise<readonly Notice[] | Denial> {
  const { host, session } = scene;
  const tell = host.contextBefore ? 'now' : 'settled';
  const announced = await session.announce(inside, {
    hold: 'none',
    call: callId(event),
    tell,
    tool: event.tool,
  });
  if (announced.ok) return announced.notices;
  const denial = denied(scene, announced.refusal);
  if (denial === undefined) await session.announceObserved(inside, callId(event));
  return denial ?? [];
}

/**
 * The id under which the files that a call moves out of the workspace are announced. They are a
 * change of their own, because the other changes of the call are judged and these are not.
 */
function leavingId(event: ToolCall): string {
  return `${callId(event)} (moved out)`;
}

/**
 * Notices about writes into a worktree that is not the agent's own. A sub-agent with its own
 * worktree often gives a path in its parent's checkout by mistake.
 */
async function strayWrites(
  { session, cwd }: Scene,
  intents: readonly HostIntent[],
): Promise<readonly Notice[]> {
  const canonical = async (path: string): Promise<string> => {
    const resolved = await session.resolve(path);
    return resolved.ok ? resolved.absolute : resolve(cwd, path);
  };
  const own = await canonical(cwd);
  const notices: Notice[] = [];
  for (const path of intents.flatMap(intentPaths)) {
    const found = await session.counterpart(await canonical(path), own);
    if (found !== undefined) notices.push({ kind: 'other-worktree', path, ...found });
  }
  return notices;
}

/**
 * The denial of a change that no read would allow: in a file that only the user may change, or
 * outside the workspace if the policy refuses that.
 */
async function forbiddenBy(
  scene: Scene,
  intents: readonly HostIntent[],
  outside: Refusal | undefined,
): Promise<HookReply | undefined> {
  const isRefused = outside !== undefined && scene.policy.hooks.outside === 'refuse';
  const denial = isRefused ? await deniedOutside(scene, outside) : undefined;
  if (denial !== undefined) return denial;
  const ours = await guardRefusal(scene, intents);
  return ours === undefined ? undefined : deniedByUser(scene, ours);
}

/**
 * Denies a call whose arguments do not name the file that its tool changes, or the command that its
 * tool runs.
 */
function incomprehensible(scene: Scene, { tool }: ToolCall, action: 'overwrite' | 'run'): HookReply {
  const what = action === 'run' ? 'which command it runs' : 'which file it changes';
  const reason = `the input of ${tool} does not say ${what}`;
  return denied(scene, invalidArgument(action, tool, reason)) ?? PASS;
}

function pathOfIntent(intent: HostIntent | undefined): string {
  return intent === undefined ? '' : intent.kind === 'move' ? intent.destination : intent.path;
}

interface InsideAndOutside {
  readonly inside: readonly HostIntent[];
  /**
   * The files that moves take out of the workspace and that the call does not change otherwise. A
   * move keeps their bytes, so it is recorded without being judged.
   */
  readonly leaving: readonly HostIntent[];
  /** The refusal for a file outside the workspace, if there is one. */
  readonly outside?: Refusal;
}

/**
 * Separates the changes inside the workspace from those outside. A move into the workspace counts as
 * a change of its destination.
 */
async function insideAndOutside(scene: Scene, intents: readonly HostIntent[]): Promise<InsideAndOutside> {
  const inside: HostIntent[] = [];
  const leaving: HostIntent[] = [];
  let outside: Refusal | undefined;
  for (const intent of intents) {
    const refusal = await outsideRefusal(scene, intent);
    if (refusal === undefined) inside.push(intent);
    else outside ??= refusal;
    if (refusal === undefined || intent.kind !== 'move') continue;
    const source = { kind: 'touch', path: intent.source } as const;
    const destination = { kind: 'touch', path: intent.destination } as const;
    if ((await outsideRefusal(scene, source)) === undefined) leaving.push(source);
    if ((await outsideRefusal(scene, destination)) === undefined) inside.push(destination);
  }
  // The bytes of a file that the call also changes are saved with that change.
  const changed = new Set(inside.flatMap(intentPaths));
  const unsaved = leaving.filter((intent) => !intentPaths(intent).some((path) => changed.has(path)));
  return { inside, leaving: unsaved, ...defined({ outside }) };
}
