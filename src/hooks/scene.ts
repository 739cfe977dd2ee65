import { createHash } from 'node:crypto';
import { isAbsolute, normalize, resolve } from 'node:path';
import { HOSTS, interpretFor } from '../dialect/calls/hosts/hosts.ts';
import type { HostTable } from '../dialect/calls/table.ts';
import type { Touch } from '../dialect/calls/touch.ts';
import { type HostIntent, locatedIntent } from '../model/intent.ts';
import type { Policy } from '../model/policy.ts';
import { isRecord } from '../model/record.ts';
import type { Notice } from '../model/results.ts';
import type { Refusal } from '../model/verdict.ts';
import { noticeTexts } from '../report/describe-notice.ts';
import { explain } from '../report/explain.ts';
import { inTermsOf } from '../report/tool-names.ts';
import type { GatedSession } from '../session/gated-session.ts';
import type { HookReply, Host, ToolCall } from './event.ts';

/** The host, session and workspace of one event. */
export interface Scene {
  readonly host: Host;
  readonly session: GatedSession;
  readonly policy: Policy;
  readonly roots: readonly string[];
  /** The folder in which relative paths of the event start. */
  readonly cwd: string;
  /** The state folder. */
  readonly home: string;
  /** The policy file that a flag names; undefined if the one in the state folder applies. */
  readonly policyFile?: string | undefined;
  /** The folder that `~` means in the host's shell. */
  readonly userHome: string | undefined;
  /**
   * `layered`: the host runs shell commands through `lookfirst-shell`, which puts their writes into
   * an overlay layer. `plain`: the host runs them itself.
   */
  readonly shell: 'layered' | 'plain';
  readonly turns: TurnNotes;
  /** When the event arrived. */
  readonly arrivedMs: number;
}

/**
 * In each turn, at most this many calls read the transcript, to find out if the client has cut off
 * a part of the conversation. The first call is not enough: the client may write the new prompt to
 * the transcript only after that call.
 */
const MAX_FOLLOWED = 3;

/** Number of a session's newest notices to keep, so that each call gets a notice only once. */
const MAX_TOLD = 50;

interface TurnFacts {
  turn?: string;
  /** The host's turn id that also means the running turn. */
  continuedAs?: string;
  /** The number of calls that have read the transcript. */
  followed: number;
  told: readonly string[];
}

/** Facts about the running turn of each session, kept while the process runs. */
export class TurnNotes {
  readonly #facts = new WeakMap<GatedSession, TurnFacts>();

  begin(session: GatedSession, turn: string): void {
    const facts = this.#of(session);
    if (facts.turn !== turn) Object.assign(facts, { turn, followed: 0, told: [] });
  }

  /**
   * The texts that no answer about this call (or prompt) has contained in this turn. Records them as
   * told. If two settings files of a host name the hook, two events report one call.
   */
  untold(session: GatedSession, call: string | undefined, texts: readonly string[]): readonly string[] {
    if (call === undefined) return texts;
    const facts = this.#of(session);
    const untold = texts.filter((text) => !facts.told.includes(`${call} ${text}`));
    facts.told = [...facts.told, ...untold.map((text) => `${call} ${text}`)].slice(-MAX_TOLD);
    return untold;
  }

  /** Counts a call that wants to read the transcript. False if enough calls of this turn have read it. */
  mayFollow(session: GatedSession): boolean {
    const facts = this.#of(session);
    facts.followed += 1;
    return facts.followed <= MAX_FOLLOWED;
  }

  /** Records that the host's turn id `turn` also means the running turn. */
  continueAs(session: GatedSession, turn: string): void {
    this.#of(session).continuedAs = turn;
  }

  continuesAs(session: GatedSession, turn: string): boolean {
    return this.#of(session).continuedAs === turn;
  }

  #of(session: GatedSession): TurnFacts {
    const facts = this.#facts.get(session) ?? { followed: 0, told: [] };
    this.#facts.set(session, facts);
    return facts;
  }
}

/** The effects of a host's call on files, with paths that the session understands. */
interface Meaning {
  readonly touches: readonly Touch[];
  /** True if the call may change something that `touches` does not name. */
  readonly unexplained: boolean;
}

/** Interprets a call of one of the host's own tools. Undefined for any other tool, such as an MCP tool. */
export function meaningOf(scene: Scene, { tool, input }: ToolCall): Meaning | undefined {
  const table = tableOf(scene);
  if (!Object.hasOwn(table.tools, tool)) return undefined;
  const { touches, unexplained } = interpretFor(table, {
    tool: { name: tool },
    args: isRecord(input) ? input : {},
  });
  return { touches: touches.map((touch) => located(scene, touch)), unexplained };
}

function tableOf({ host }: Scene): HostTable {
  const table = HOSTS.find(({ id }) => id === host.name);
  if (table === undefined) throw new Error(`no table of tools for ${host.name}`);
  return table;
}

/**
 * Converts the paths of a tool call for the session. The host's relative paths start at the working
 * directory, the session's at the first root.
 */
function located(scene: Scene, touch: Touch): Touch {
  const at = (path: string): string => pathOf(scene, path);
  switch (touch.does) {
    case 'look':
    case 'list':
    case 'read':
      return { ...touch, path: at(touch.path) };
    case 'search':
      return touch.path === undefined ? touch : { ...touch, path: at(touch.path) };
    case 'change':
      return { ...touch, intent: locatedIntent(at, touch.intent) };
    case 'run':
    case 'unknown':
      return touch;
    default:
      return touch satisfies never;
  }
}

/**
 * Converts a host's path to one that the session accepts. Keeps its spelling where possible.
 * Resolves links that lead into the workspace from outside: the host follows them, but the session
 * does not.
 */
export function pathOf({ cwd, roots, session }: Scene, path: string): string {
  // Make a relative path absolute if it leaves the root by `..`. The session would refuse it, even
  // if it leads back into the root.
  const climbs = !isAbsolute(path) && normalize(path).startsWith('..');
  const named = cwd === roots[0] && !climbs ? path : resolve(cwd, path);
  return session.nameInside(isAbsolute(path) ? path : `${cwd}/${path}`) ?? named;
}

/**
 * Like `pathOf`, for a path in a shell command. The kernel follows a link before it applies the next
 * `..`, but `pathOf` removes both from the text.
 */
export function shellPathOf(scene: Scene, path: string): string {
  const [, folder, rest = ''] = /^((?:.*\/)?\.\.)(\/.*)?$/s.exec(path) ?? [];
  if (folder === undefined) return pathOf(scene, path);
  const absolute = isAbsolute(folder) ? folder : `${scene.cwd}/${folder}`;
  const real = scene.session.realName(absolute);
  // Keep the spelling if the path has no link before a `..`.
  return pathOf(scene, real === scene.session.realName(resolve(absolute)) ? path : `${real}${rest}`);
}

/** The action to name in the refusal of a change outside the workspace. */
function actionOf({ kind }: HostIntent): Refusal['action'] {
  if (kind === 'touch') return 'edit';
  return kind === 'write' ? 'overwrite' : kind;
}

/** The refusal of a change outside the workspace; undefined for a change inside it. */
export async function outsideRefusal({ session }: Scene, intent: HostIntent): Promise<Refusal | undefined> {
  for (const path of intentPaths(intent)) {
    const outcome = await session.resolve(path);
    if (!outcome.ok && outcome.refusal.code === 'OUTSIDE_WORKSPACE')
      return { ...outcome.refusal, action: actionOf(intent) };
  }
  return undefined;
}

export function intentPaths(intent: HostIntent): readonly string[] {
  return intent.kind === 'move' ? [intent.source, intent.destination] : [intent.path];
}

/**
 * The host's id of a call. Without one, the tool and its input identify the call, because a host
 * does not run equal calls at the same time.
 */
export function callId({ call, tool, input }: ToolCall): string {
  if (call !== undefined) return call;
  const text = JSON.stringify([tool, input]);
  return `h${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
}

/**
 * Denies an action that only the user may do, and records it in the journal. Undefined if the
 * policy only observes.
 */
export async function deniedByUser(scene: Scene, refusal: Refusal): Promise<Denial | undefined> {
  const what = scene.policy.mode === 'observe' ? 'would have been refused' : 'refused';
  await scene.session.forHost().note(`${what} to an agent: ${refusal.path}`);
  return denied(scene, refusal);
}

/** Denies a change outside the workspace, and records it in the journal. Undefined if the policy only observes. */
export async function deniedOutside(scene: Scene, refusal: Refusal): Promise<Denial | undefined> {
  await scene.session.refuseCall(refusal);
  return denied(scene, refusal);
}

export type Denial = Extract<HookReply, { verdict: 'deny' }>;

/** The denial of a call; undefined if the policy only observes. */
export function denied(scene: Scene, refusal: Refusal): Denial | undefined {
  if (scene.policy.mode === 'observe') return undefined;
  return { verdict: 'deny', reason: refusalText(scene, refusal) };
}

/**
 * A refusal in sentences that name the host's own tools. The next step comes in the first line,
 * because a long denial is cut at its end.
 */
function refusalText(scene: Scene, refusal: Refusal): string {
  const { policy } = scene;
  const tools = tableOf(scene).words;
  const words = { nowMs: Date.now(), tools, wording: policy.preset, shellReads: true } as const;
  const old = tools.arguments.oldText;
  const terms: Readonly<Record<string, string>> =
    old === undefined ? {} : { old_string: old, new_string: old.replace('old', 'new') };
  const [first = '', ...rest] = explain(inTermsOf(terms, refusal), words).split('\n');
  // A sentence on repeated refusals can follow the next step.
  const at = rest.findLastIndex((line, index) => line.startsWith('Next: ') && index >= rest.length - 2);
  return at < 0 ? [first, ...rest].join('\n') : [`${first} ${rest[at]}`, ...rest.toSpliced(at, 1)].join('\n');
}

/** The notices for a call as one text for the model; undefined if there is nothing new to say. */
export function noticeText(
  { policy, session, turns }: Scene,
  { call }: ToolCall,
  { notices, path }: { readonly notices: readonly Notice[]; readonly path: string },
): string | undefined {
  const texts = turns.untold(session, call, noticeTexts(notices, path, { wording: policy.preset }));
  return texts.length === 0 ? undefined : `Lookfirst: ${texts.join('\n')}`;
}

/** Lets a call pass, with texts for the model if there are any. */
export function passing(...texts: readonly (string | undefined)[]): HookReply {
  const told = texts.filter((text) => text !== undefined);
  return told.length === 0 ? { verdict: 'pass' } : { verdict: 'pass', context: told.join('\n') };
}

/**
 * Records a call that the host made without a before-event: its hooks were off, not trusted, or
 * failed open.
 */
export async function unjudged(
  { session, turns }: Scene,
  event: ToolCall,
  path?: string,
): Promise<HookReply> {
  const { tool, call } = event;
  await session.noteUnjudged(`${tool} ran without a check by Lookfirst`, { path, call });
  const what = path === undefined ? `this ${tool}` : `this ${tool} of ${path}`;
  const text = `Lookfirst: ${what} ran without a check, so it does not count as read and may not be undoable. Ask the user to run \`lookfirst doctor\`.`;
  const [context] = turns.untold(session, call, [text]);
  return passing(context);
}

/** True for a tool of our own MCP server, under the name that `init` or the plugin gives it. */
export function isOwnTool({ tool, call }: ToolCall): boolean {
  return call !== undefined && /^mcp__(?:plugin_.*_)?lookfirst__/.test(tool);
}
