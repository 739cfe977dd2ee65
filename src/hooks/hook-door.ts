import { resolve } from 'node:path';
import { openWorkspace, type StateFlags, type Surroundings } from '../session/configured.ts';
import type { Sessions } from '../session/sessions.ts';
import type { HookEvent, Host, Reply } from './event.ts';
import { respond } from './respond.ts';

/** The settings of one hook call, from its command line and environment. */
export interface HookSettings {
  readonly host: Host;
  /** The working directory of the hook process. */
  readonly cwd: string;
  /** Folders given by `--root`. They win over everything the host says. */
  readonly roots: readonly string[];
  /** The folder in the host's project variable. */
  readonly project?: string;
  /** Given instead of the host's session id; a sub-agent's id is still added. */
  readonly session?: string;
  /** The program that the host puts before the lines of its shell. */
  readonly shellPrefix?: string;
  readonly state: StateFlags;
}

/** Workspaces that stay open in a resident. A developer rarely works in more at a time. */
const MAX_OPEN = 16;

/** Answers events and keeps the workspaces open that they are about. */
export class HookDoor {
  readonly #around: Surroundings;
  readonly #state: StateFlags;
  readonly #open = new Map<string, Promise<Sessions>>();

  constructor(around: Surroundings, state: StateFlags) {
    this.#around = around;
    this.#state = state;
  }

  async respond(settings: HookSettings, event: HookEvent): Promise<Reply> {
    if (event.kind === 'other') return { verdict: 'pass' };
    const roots = rootsOf(settings, event);
    const sessions = await this.#sessions(roots);
    const session = await sessions.session(sessionOf(settings, event));
    const cwd = resolve(settings.cwd, event.cwd ?? roots[0] ?? '.');
    const { policy, workspace } = sessions.world;
    const shell = policy.hooks.shell === 'layer' && isOurPrefix(settings) ? 'layered' : 'plain';
    return respond({ host: settings.host, session, policy, roots: workspace.roots, cwd, shell }, event);
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const sessions of open) await (await sessions.catch(() => undefined))?.close();
  }

  #sessions(roots: readonly string[]): Promise<Sessions> {
    const name = roots.join('\0');
    const known = this.#open.get(name);
    if (known !== undefined) {
      // The newest last, so that the oldest is closed first.
      this.#open.delete(name);
      this.#open.set(name, known);
      return known;
    }
    const opening = openWorkspace(this.#around, this.#state, roots);
    this.#open.set(name, opening);
    opening.catch(() => this.#open.delete(name));
    this.#closeOldest();
    return opening;
  }

  #closeOldest(): void {
    const [oldest] = this.#open;
    if (oldest === undefined || this.#open.size <= MAX_OPEN) return;
    this.#open.delete(oldest[0]);
    void oldest[1].then((sessions) => sessions.close()).catch(() => undefined);
  }
}

/** `init` writes the prefix under this name into the state folder. */
function isOurPrefix({ shellPrefix }: HookSettings): boolean {
  return shellPrefix !== undefined && /(^|\/)lookfirst-shell$/.test(shellPrefix);
}

function rootsOf({ roots, project, cwd }: HookSettings, event: HookEvent): readonly string[] {
  if (roots.length > 0) return roots.map((root) => resolve(cwd, root));
  if (project !== undefined) return [resolve(cwd, project)];
  const named = event.workspaceRoots ?? [];
  return named.length > 0 ? named.map((root) => resolve(cwd, root)) : [resolve(cwd, event.cwd ?? '.')];
}

function sessionOf({ session }: HookSettings, event: HookEvent): string {
  if (session === undefined) return event.session;
  const agent = event.session.indexOf('/');
  return agent < 0 ? session : session + event.session.slice(agent);
}
