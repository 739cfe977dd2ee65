import { resolve } from 'node:path';
import { Fault } from '../model/fault.ts';
import { invalidSessionText, isSessionId } from '../model/session-record.ts';
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
  /** The project folder, from the environment variable in which the host names it. */
  readonly project?: string;
  /** Used instead of the host's session id. For a sub-agent, a slash and its id follow. */
  readonly session?: string;
  /** The program through which the host runs every shell command, such as `lookfirst-shell`. */
  readonly shellPrefix?: string;
  readonly state: StateFlags;
}

/**
 * Maximum number of open workspaces in the background process that answers hook calls. A developer
 * rarely works in more at a time.
 */
const MAX_OPEN = 16;

/** Answers events. Keeps open the workspaces that the events concern. */
export class HookDoor {
  readonly #around: ConfigSources;
  readonly #state: StateFlags;
  readonly #open = new Map<string, Promise<UsableRoots>>();
  readonly #turns = new TurnNotes();

  readonly #trees: 'warm' | 'cold';

  /**
   * `warm`: for a process that answers many calls; watches large work trees between commands.
   * `cold`: for a process that answers one call; watches nothing.
   */
  constructor(around: ConfigSources, state: StateFlags, trees: 'warm' | 'cold' = 'cold') {
    this.#around = around;
    this.#state = state;
    this.#trees = trees;
  }

  async respond(settings: HookSettings, event: HookEvent): Promise<HookReply> {
    if (event.kind === 'other') return { verdict: 'pass' };
    const roots = rootsOf(settings, event);
    const usable = await this.#usable(roots);
    try {
      return await this.#respondIn(usable, { settings, event, roots });
    } catch (error) {
      if (!isLost(error)) throw error;
      // The database was deleted or replaced. Answer again with a new database, in which no file
      // counts as seen.
      await this.#forget(roots, usable);
      return this.#respondIn(await this.#usable(roots), { settings, event, roots });
    }
  }

  async #respondIn(
    { sessions, leftOut }: UsableRoots,
    { settings, event, roots }: { settings: HookSettings; event: HookEvent; roots: readonly string[] },
  ): Promise<HookReply> {
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
    // `#nameOf` includes the policy's text, so that a changed policy file opens the workspace
    // again. `policyOf` throws if the file cannot be used, which denies the call.
    const name = this.#nameOf(roots);
    policyOf(this.#around, this.#state);
    const known = this.#open.get(name);
    if (known !== undefined) {
      // Move the workspace to the end of the map: the least recently used one is then first, and is
      // closed first.
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

  /**
   * Closes a workspace, so that the next call opens it with the database that exists at that time.
   */
  async #forget(roots: readonly string[], usable: UsableRoots): Promise<void> {
    const name = this.#nameOf(roots);
    // Do nothing if another call has opened the workspace again already.
    if ((await this.#open.get(name)) !== usable) return;
    this.#open.delete(name);
    await usable.sessions?.suspend().catch(() => undefined);
  }

  /** The name of a workspace among those that are open: its roots, and the policy that it was opened with. */
  #nameOf(roots: readonly string[]): string {
    return [...roots, policyTextOf(this.#around, this.#state) ?? ''].join('\0');
  }

  #closeOldest(): void {
    const [oldest] = this.#open;
    if (oldest === undefined || this.#open.size <= MAX_OPEN) return;
    this.#open.delete(oldest[0]);
    void oldest[1].then(({ sessions }) => sessions?.suspend()).catch(() => undefined);
  }
}

/** True if the database was deleted, replaced or truncated while it was open. */
function isLost(error: unknown): boolean {
  return error instanceof Fault && error.code === 'STORE_FAILED' && error.reason === 'lost';
}

/**
 * True for events whose reply the user or the model reads. Such a reply can carry a notice about
 * the configuration.
 */
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

/**
 * True if the host runs its shell commands through `lookfirst-shell`, the script that `init`
 * writes.
 */
function isOurPrefix({ shellPrefix }: HookSettings): boolean {
  return shellPrefix !== undefined && /(^|\/)lookfirst-shell$/.test(shellPrefix);
}

function rootsOf({ roots, project, cwd }: HookSettings, event: HookEvent): readonly string[] {
  if (roots.length > 0) return roots.map((root) => resolve(cwd, root));
  const named = (event.workspaceRoots ?? []).map((root) => resolve(cwd, root));
  if (project !== undefined) {
    // Cursor sets its project variable to the first of several folders. If the event names that
    // folder too, use all folders that the event names.
    const first = resolve(cwd, project);
    return named.includes(first) ? [first, ...named.filter((root) => root !== first)] : [first];
  }
  return named.length > 0 ? named : [resolve(cwd, event.cwd ?? '.')];
}

function sessionOf({ session }: HookSettings, event: HookEvent): string {
  if (session === undefined) return event.session;
  if (!isSessionId(session))
    throw new Fault('CONFIG_INVALID', invalidSessionText('--session or LOOKFIRST_SESSION'));
  const agent = event.session.indexOf('/');
  return agent < 0 ? session : session + event.session.slice(agent);
}
