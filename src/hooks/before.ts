import { resolve } from 'node:path';
import type { ForeignIntent } from '../model/intent.ts';
import type { Notice } from '../model/results.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import { beforeCommand } from './command.ts';
import type { HookEvent, HookReply, ToolCall } from './event.ts';
import { guardRefusal } from './operator.ts';
import { callId, denied, deniedByUser, isOwnTool, meaningOf, noticeText, type Scene } from './scene.ts';

const PASS: HookReply = { verdict: 'pass' };

/**
 * Handles a call that the host is about to make. A change is judged and announced, so that its
 * bytes are kept and any process can settle it. The announcement holds no lock: the host may ask
 * its user for permission first, or never make the call.
 */
export async function before(
  scene: Scene,
  event: Extract<HookEvent, { kind: 'before' }>,
): Promise<HookReply> {
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
  const { inside, outside } = await sorted(scene, intents);
  const forbidden = await forbiddenBy(scene, intents, outside);
  if (forbidden !== undefined) return forbidden;
  const stray = scene.host.contextBefore ? await strayWrites(scene, intents) : [];
  if (inside.length === 0) return withContext(noticeText(scene, stray, ''));
  const told = scene.host.contextBefore ? 'now' : 'settled';
  const announced = await scene.session.announce(inside, { hold: 'none', call: callId(event), tell: told });
  if (!announced.ok) return denied(scene, announced.refusal) ?? observed(scene, event, inside);
  return withContext(noticeText(scene, [...stray, ...announced.notices], pathOfIntent(inside[0])));
}

function withContext(context: string | undefined): HookReply {
  return context === undefined ? PASS : { verdict: 'pass', context };
}

/**
 * Notices about writes into another worktree than the agent's own. A sub-agent in its own worktree
 * often means the file there, but names the one in its parent's checkout.
 */
export async function strayWrites(
  { session, cwd }: Scene,
  intents: readonly ForeignIntent[],
): Promise<readonly Notice[]> {
  const canonical = async (path: string): Promise<string> => {
    const resolved = await session.resolve(path);
    return resolved.ok ? resolved.absolute : resolve(cwd, path);
  };
  const own = await canonical(cwd);
  const notices: Notice[] = [];
  for (const path of intents.flatMap(pathsOf)) {
    const found = await session.counterpart(await canonical(path), own);
    if (found !== undefined) notices.push({ kind: 'other-worktree', path, ...found });
  }
  return notices;
}

/** The denial of a change that no sighting licenses. */
async function forbiddenBy(
  scene: Scene,
  intents: readonly ForeignIntent[],
  outside: Refusal | undefined,
): Promise<HookReply | undefined> {
  if (outside !== undefined && scene.policy.hooks.outside === 'refuse') return denied(scene, outside);
  const ours = await guardRefusal(scene, intents);
  return ours === undefined ? undefined : deniedByUser(scene, ours);
}

/** A change that would be refused, but is made because the policy only observes. */
async function observed(
  { session }: Scene,
  event: ToolCall,
  intents: readonly ForeignIntent[],
): Promise<HookReply> {
  await session.announceObserved(intents, callId(event));
  return PASS;
}

/** The denial of a call whose tool changes files or runs commands, but whose arguments do not say which. */
function incomprehensible(scene: Scene, { tool }: ToolCall, action: 'overwrite' | 'run'): HookReply {
  const what = action === 'run' ? 'which command it runs' : 'which file it changes';
  const reason = `the input of ${tool} does not say ${what}`;
  return denied(scene, invalidArgument(action, tool, reason)) ?? PASS;
}

interface Sorted {
  readonly inside: readonly ForeignIntent[];
  /** The refusal for a file outside the workspace, if there is one. */
  readonly outside?: Refusal;
}

/** Changes outside the workspace are left to the host's own permissions. */
async function sorted(scene: Scene, intents: readonly ForeignIntent[]): Promise<Sorted> {
  const inside: ForeignIntent[] = [];
  let outside: Refusal | undefined;
  for (const intent of intents) {
    const refusal = await outsideOf(scene, pathsOf(intent));
    if (refusal === undefined) inside.push(intent);
    else outside ??= { ...refusal, action: actionOf(intent) };
  }
  return outside === undefined ? { inside } : { inside, outside };
}

/** The action that a refusal of a change outside the workspace names. */
function actionOf({ kind }: ForeignIntent): Refusal['action'] {
  if (kind === 'touch') return 'edit';
  return kind === 'write' ? 'overwrite' : kind;
}

async function outsideOf({ session }: Scene, paths: readonly string[]): Promise<Refusal | undefined> {
  for (const path of paths) {
    const outcome = await session.resolve(path);
    if (!outcome.ok && outcome.refusal.code === 'OUTSIDE_WORKSPACE') return outcome.refusal;
  }
  return undefined;
}

function pathsOf(intent: ForeignIntent): readonly string[] {
  return intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
}

function pathOfIntent(intent: ForeignIntent | undefined): string {
  return intent === undefined ? '' : intent.kind === 'move' ? intent.destination : intent.path;
}
