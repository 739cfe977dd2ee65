import { resolve } from 'node:path';
import { Fault } from '../model/fault.ts';
import { invalidSessionText, isSessionId } from '../model/session-record.ts';
import { lostEntries, lostText } from '../records/lost-entries.ts';
import {
  type ConfigSources,
  foldersAt,
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
import { passing, type Scene, TurnNotes } from './scene.ts';

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
 * rarely works in more at a time. If there are more, the least recently used one is closed.
 */
const MAX_OPEN = 16;

interface OpenWorkspace {
  /** The text of the policy file with which the workspace was opened. */
  readonly policyText: string | undefined;
  /**
   * The identity of the folder at each root when the workspace was opened; undefined for a missing
   * folder.
   */
  readonly folders: readonly (string | undefined)[];
  readonly usable: Promise<UsableRoots>;
  /** Number of calls that are being answered with this workspace. */
  calls: number;
  /** True if no new call may use this workspace. It is closed after the last of its calls. */
  isRetired: boolean;
}

/** An event with the folders that it concerns. */
interface ArrivedEvent {
  readonly settings: HookSettings;
  readonly event: HookEvent;
  readonly roots: readonly string[];
  readonly arrivedMs: number;
}

/** Answers events. Keeps open the workspaces that the events concern. */
export class HookDoor {
  readonly #around: ConfigSources;
  readonly #state: StateFlags;
  /** The open workspaces by their roots, the least recently used first. */
  readonly #open = new Map<string, OpenWorkspace>();
  readonly #turns = new TurnNotes();
  /** By session: what it was told about lost entries of ours. */
  readonly #lost = new Map<string, string>();

  constructor(around: ConfigSources, state: StateFlags) {
    this.#around = around;
    this.#state = state;
  }

  async respond(settings: HookSettings, event: HookEvent): Promise<HookReply> {
    if (event.kind === 'other') return { verdict: 'pass' };
    const arrivedMs = Date.now();
    const roots = rootsOf(settings, event);
    try {
      return await this.#respondOnce({ settings, event, roots, arrivedMs });
    } catch (error) {
      if (!isLost(error)) throw error;
      // The database was deleted or replaced. Answer again with a new database, in which no file
      // counts as seen.
      return this.#respondOnce({ settings, event, roots, arrivedMs });
    }
  }

  async #respondOnce(call: ArrivedEvent): Promise<HookReply> {
    const { workspace, release } = this.#use(call.roots);
    try {
      return await this.#respondIn(await workspace.usable, call);
    } catch (error) {
      if (isLost(error)) this.#remove(workspace);
      throw error;
    } finally {
      await release();
    }
  }

  /** Opens the workspace with this root. It stays open until `release` is called. */
  async open(root: string): Promise<{ readonly sessions: Sessions; release(): Promise<void> }> {
    const { workspace, release } = this.#use([root]);
    const { sessions, leftOut } = await workspace.usable.catch(async (error) => {
      await release();
      throw error;
    });
    if (sessions !== undefined) return { sessions, release };
    await release();
    throw leftOut[0];
  }

  #use(roots: readonly string[]): { readonly workspace: OpenWorkspace; release(): Promise<void> } {
    const workspace = this.#workspace(roots);
    workspace.calls += 1;
    const release = async (): Promise<void> => {
      workspace.calls -= 1;
      if (workspace.isRetired && workspace.calls === 0) await suspend(workspace);
    };
    return { workspace, release };
  }

  async #respondIn(
    { sessions, leftOut }: UsableRoots,
    { settings, event, roots, arrivedMs }: ArrivedEvent,
  ): Promise<HookReply> {
    const notice = hasContext(event) ? leftOutText(leftOut) : undefined;
    if (sessions === undefined) return passing(notice);
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
      arrivedMs,
    } as const;
    const warned = event.kind === 'start' ? warningText(sessions.warnings) : undefined;
    const reply = await respond(scene, event);
    const lost = await this.#lostNotice(scene, event);
    return reply.verdict === 'deny' ? reply : passing(lost, warned, notice, reply.context);
  }

  /**
   * The warning for the session if our entries are gone from the client's settings: given once, and
   * again at each prompt. The client itself notices only at its next start.
   */
  async #lostNotice(
    { session, home, roots, userHome }: Scene,
    event: HookEvent,
  ): Promise<string | undefined> {
    if (!hasContext(event) && event.kind !== 'after' && event.kind !== 'failed') return undefined;
    const texts = lostEntries({ home, roots, userHome }).map(lostText);
    const text = texts.length === 0 ? undefined : `Lookfirst: ${texts.join('\n')}. Tell the user.`;
    const known = this.#lost.get(session.id);
    if (text === undefined) this.#lost.delete(session.id);
    else this.#lost.set(session.id, text);
    if (text === undefined || (text === known && !hasContext(event))) return undefined;
    if (text !== known) await session.forHost().note(texts.join('\n'));
    return text;
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { usable } of open) await (await usable.catch(() => undefined))?.sessions?.suspend();
  }

  #workspace(roots: readonly string[]): OpenWorkspace {
    const found = { policyText: policyTextOf(this.#around, this.#state), folders: foldersAt(roots) };
    const name = roots.join('\0');
    const known = this.#open.get(name);
    if (known !== undefined && isCurrent(known, found)) {
      // Move the workspace to the end of the map: if too many are open, the first one in the map is
      // closed.
      this.#open.delete(name);
      this.#open.set(name, known);
      return known;
    }
    // Throws if the policy file cannot be used, which denies the call.
    policyOf(this.#around, this.#state);
    if (known !== undefined) this.#retire(known);
    const usable = openUsable(roots, (list) => this.#openWorkspace(list));
    const workspace = { ...found, usable, calls: 0, isRetired: false };
    this.#open.set(name, workspace);
    usable.catch(() => this.#remove(workspace));
    const [oldest] = this.#open.values();
    if (oldest !== undefined && this.#open.size > MAX_OPEN) this.#retire(oldest);
    return workspace;
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

  /** Lets no new call use a workspace. Closes it now, or after the calls that are being answered with it. */
  #retire(workspace: OpenWorkspace): void {
    this.#remove(workspace);
    if (workspace.calls === 0) void suspend(workspace);
  }

  #remove(workspace: OpenWorkspace): void {
    workspace.isRetired = true;
    for (const [name, open] of this.#open) if (open === workspace) this.#open.delete(name);
  }
}

/** Closes a workspace in this process. A failure is ignored, because the next call opens it again. */
async function suspend({ usable }: OpenWorkspace): Promise<void> {
  await usable.then(({ sessions }) => sessions?.suspend()).catch(() => undefined);
}

/**
 * False if the policy file was changed, or if a root is now another folder, for example because the
 * former folder was deleted and created again. A missing root does not make the result false: the
 * workspace stays open, so that the session can end.
 */
function isCurrent(
  known: OpenWorkspace,
  { policyText, folders }: Pick<OpenWorkspace, 'policyText' | 'folders'>,
): boolean {
  return (
    known.policyText === policyText &&
    folders.every((folder, at) => folder === undefined || folder === known.folders[at])
  );
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

/** The warnings from opening the workspace, such as settings that no longer exist. */
function warningText(warnings: readonly string[]): string | undefined {
  return warnings.length === 0 ? undefined : `Lookfirst: ${warnings.join('\n')}. Tell the user.`;
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
