import { resolve } from 'node:path';
import type { Fault } from '../model/fault.ts';
import {
  type ConfigSources,
  openUsable,
  openWorkspace,
  policyFileOf,
  policyOf,
  policyTextOf,
  type StateFlags,
  type UsableRoots,
} from '../session/configured.ts';
import { keepPolicyOutOfReach } from '../session/out-of-reach.ts';
import type { Sessions } from '../session/sessions.ts';
import type { HookEvent, HookReply, Host } from './event.ts';
import { respond } from './respond.ts';
import { TurnNotes } from './scene.ts';

/** The settings of one hook call, from its command line and environment. */
export interface HookSettings {
  readonly host: Host;
  /** The working directory of the hook process. */
  readonly cwd: string;
  /** Folders given by `--root`. They take precedence over the host's folders. */
  readonly roots: readonly string[];
  /** The folder in the host's project variable. */
  readonly project?: string;
  /** Used instead of the host's session id; a sub-agent's id is still added. */
  readonly session?: string;
  /** The program that the host puts before the lines of its shell. */
  readonly shellPrefix?: string;
  readonly state: StateFlags;
}

/** The number of workspaces that stay open in a resident. A developer rarely works in more at a time. */
const MAX_OPEN = 16;

/** Answers events and keeps the workspaces that they concern open. */
export class HookDoor {
  readonly #around: ConfigSources;
  readonly #state: StateFlags;
  readonly #open = new Map<string, Promise<UsableRoots>>();
  readonly #turns = new TurnNotes();

  readonly #trees: 'warm' | 'cold';

  /** `warm`: watch large work trees between commands, for a process that answers many. */
  constructor(around: ConfigSources, state: StateFlags, trees: 'warm' | 'cold' = 'cold') {
    this.#around = around;
    this.#state = state;
    this.#trees = trees;
  }

  async respond(settings: HookSettings, event: HookEvent): Promise<HookReply> {
    if (event.kind === 'other') return { verdict: 'pass' };
    const roots = rootsOf(settings, event);
    const { sessions, leftOut } = await this.#usable(roots);
    const notice = hasContext(event) ? leftOutText(leftOut) : undefined;
    if (sessions === undefined)
      return notice === undefined ? { verdict: 'pass' } : { verdict: 'pass', context: notice };
    const session = await sessions.session(sessionOf(settings, event), settings.host.name);
    const cwd = resolve(settings.cwd, event.cwd ?? roots[0] ?? '.');
    const { policy, workspace, home } = sessions.world;
    const shell = policy.hooks.shell === 'layer' && isOurPrefix(settings) ? 'layered' : 'plain';
    const { host } = settings;
    const scene = {
      host,
      session,
      policy,
      roots: workspace.roots,
      cwd,
      home,
      policyFile: policyFileOf(this.#around, this.#state),
      userHome: this.#around.env['HOME'],
      shell,
      turns: this.#turns,
    } as const;
    return withNotice(await respond(scene, event), notice);
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const usable of open) await (await usable.catch(() => undefined))?.sessions?.suspend();
  }

  #usable(roots: readonly string[]): Promise<UsableRoots> {
    // A changed policy file reopens the workspace. An unreadable one fails here, and the call is
    // denied.
    const policy = policyTextOf(this.#around, this.#state) ?? '';
    policyOf(this.#around, this.#state);
    const name = [...roots, policy].join('\0');
    const known = this.#open.get(name);
    if (known !== undefined) {
      // Keep the newest last, so that the oldest is closed first.
      this.#open.delete(name);
      this.#open.set(name, known);
      return known;
    }
    const opening = openUsable(roots, (list) => this.#openWorkspace(list));
    if (this.#trees === 'warm')
      void opening.then(({ sessions }) => sessions?.world.processes.keepWarm()).catch(() => undefined);
    this.#open.set(name, opening);
    opening.catch(() => this.#open.delete(name));
    this.#closeOldest();
    return opening;
  }

  async #openWorkspace(roots: readonly string[]): Promise<Sessions> {
    const sessions = await openWorkspace(this.#around, this.#state, roots);
    const policyFile = policyFileOf(this.#around, this.#state);
    try {
      if (policyFile !== undefined) keepPolicyOutOfReach(sessions.world, policyFile);
      return sessions;
    } catch (error) {
      await sessions.close();
      throw error;
    }
  }

  #closeOldest(): void {
    const [oldest] = this.#open;
    if (oldest === undefined || this.#open.size <= MAX_OPEN) return;
    this.#open.delete(oldest[0]);
    void oldest[1].then(({ sessions }) => sessions?.suspend()).catch(() => undefined);
  }
}

/** True for events at which a user or a model reads a notice about the configuration. */
function hasContext({ kind }: HookEvent): boolean {
  return kind === 'prompt' || kind === 'start';
}

function leftOutText(leftOut: readonly Fault[]): string | undefined {
  if (leftOut.length === 0) return undefined;
  const reasons = leftOut.map(({ message, code }) => `${message} [${code}]`);
  return `Lookfirst does not guard a folder of this workspace: ${reasons.join('; ')}. Tell the user.`;
}

function withNotice(reply: HookReply, notice: string | undefined): HookReply {
  if (notice === undefined || reply.verdict === 'deny') return reply;
  return { ...reply, context: reply.context === undefined ? notice : `${notice}\n${reply.context}` };
}

/** `init` writes the prefix under this name into the state folder. */
function isOurPrefix({ shellPrefix }: HookSettings): boolean {
  return shellPrefix !== undefined && /(^|\/)lookfirst-shell$/.test(shellPrefix);
}

function rootsOf({ roots, project, cwd }: HookSettings, event: HookEvent): readonly string[] {
  if (roots.length > 0) return roots.map((root) => resolve(cwd, root));
  const named = (event.workspaceRoots ?? []).map((root) => resolve(cwd, root));
  if (project !== undefined) {
    // Cursor always sets the variable, to the first folder of a workspace that may have several.
    const first = resolve(cwd, project);
    return named.includes(first) ? [first, ...named.filter((root) => root !== first)] : [first];
  }
  return named.length > 0 ? named : [resolve(cwd, event.cwd ?? '.')];
}

function sessionOf({ session }: HookSettings, event: HookEvent): string {
  if (session === undefined) return event.session;
  const agent = event.session.indexOf('/');
  return agent < 0 ? session : session + event.session.slice(agent);
}
