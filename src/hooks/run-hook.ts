import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { residentPlace } from '../config/resident-place.ts';
import type { Fault } from '../model/fault.ts';
import { nearestName } from '../model/nearest-name.ts';
import { PRESET_NAMES, type PresetName } from '../model/policy.ts';
import {
  type ConfigSources,
  openUsable,
  openWorkspace,
  placesOf,
  policyOf,
  policyTextOf,
  type StateFlags,
  type UsableRoots,
} from '../session/configured.ts';
import { answerHook } from './answer-hook.ts';
import { HOST_NAMES, type HookAnswer, type HookEvent, type HookReply, type Host } from './event.ts';
import { HOOK_HOSTS } from './hosts/hook-hosts.ts';
import { deniedOnStderr } from './hosts/payload.ts';
import type { ResidentCall } from './resident/resident.ts';
import { respond } from './respond.ts';

interface HookProcess extends ConfigSources {
  readonly args: readonly string[];
  /** The Node executable and the program file, to start a resident with. */
  readonly self: readonly [node: string, program: string];
  readonly uid: number;
  stdin(): Promise<string>;
  print(text: string): Promise<void>;
  tell(text: string): void;
}

/** Claude Code starts the lines of its shell with the program in this variable. */
const SHELL_PREFIX_VARIABLE = 'CLAUDE_CODE_SHELL_PREFIX';
const IDLE_MS = 10 * 60_000;
const CHECK_MS = 5_000;

/** `lookfirst hook`: one call, or with `--resident` the process that answers the calls of the script. */
export async function runHook(process: HookProcess): Promise<number> {
  const parsed = parse(process.args);
  if ('usage' in parsed) return end(process, misused(parsed.usage));
  const { values, positionals } = parsed;
  if (values.resident === true) return reside(process);
  const host = hostNamed(positionals[0]);
  if (typeof host === 'string') return end(process, misused(host));
  const preset = presetNamed(values.preset);
  if (preset === 'unknown') return end(process, misused(`unknown preset '${values.preset}'`));
  const settings = settingsOf(process, { values, host, preset });
  const door = new HookDoor(process, settings.state);
  try {
    const call = {
      host,
      text: await process.stdin(),
      ...(values.event === undefined ? {} : { declaredEvent: values.event }),
      onFailure: values['fail-open'] === true ? 'pass' : 'deny',
    } as const;
    return await end(process, await answerHook(call, (_host, event) => door.respond(settings, event)));
  } finally {
    await door.close().catch((error: unknown) => process.tell(`lookfirst: ${String(error)}`));
    if (isDefaultState(process, values)) await startResident(process);
  }
}

const OPTIONS = {
  event: { type: 'string' },
  root: { type: 'string', multiple: true },
  session: { type: 'string' },
  policy: { type: 'string' },
  preset: { type: 'string' },
  store: { type: 'string' },
  'fail-open': { type: 'boolean' },
  resident: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>['values'];

function parse(
  args: readonly string[],
): { readonly values: Values; readonly positionals: readonly string[] } | { readonly usage: string } {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    return { usage: error instanceof Error ? error.message : String(error) };
  }
}

/** The host, or the problem with its name. */
function hostNamed(name: string | undefined): Host | string {
  const known = HOST_NAMES.find((host) => host === name);
  if (known !== undefined) return HOOK_HOSTS[known];
  if (name === undefined) return `name the client: ${HOST_NAMES.join(', ')}`;
  const meant = nearestName(name, HOST_NAMES);
  return `unknown client '${name}'.${meant === undefined ? '' : ` Did you mean ${meant}?`}`;
}

function presetNamed(name: string | undefined): PresetName | 'unknown' | undefined {
  return name === undefined ? undefined : (PRESET_NAMES.find((preset) => preset === name) ?? 'unknown');
}

function settingsOf(
  { env, cwd }: ConfigSources,
  given: { readonly values: Values; readonly host: Host; readonly preset: PresetName | undefined },
): HookSettings {
  const { values, host, preset } = given;
  const session = values.session || env['LOOKFIRST_SESSION'] || undefined;
  const shellPrefix = env[SHELL_PREFIX_VARIABLE] || undefined;
  const project = host.projectVariable === undefined ? undefined : env[host.projectVariable] || undefined;
  return {
    host,
    cwd,
    roots: values.root ?? [],
    ...(session === undefined ? {} : { session }),
    ...(project === undefined ? {} : { project }),
    ...(shellPrefix === undefined ? {} : { shellPrefix }),
    state: {
      ...(values.store === undefined ? {} : { store: values.store }),
      ...(values.policy === undefined ? {} : { policy: values.policy }),
      ...(preset === undefined ? {} : { preset }),
    },
  };
}

/** A misconfigured hook must not let changes pass, so a usage error also denies. */
function misused(reason: string): HookAnswer {
  return deniedOnStderr(`lookfirst hook: ${reason} (lookfirst hook --help shows the usage)`);
}

async function end(process: HookProcess, answer: HookAnswer): Promise<number> {
  if (answer.stderr !== '') process.tell(answer.stderr.trimEnd());
  if (answer.stdout !== '') await process.print(`${answer.stdout}\n`);
  return answer.exitCode;
}

/** A resident serves the default store and policy of a state folder. Calls with other ones open their own. */
function isDefaultState({ env }: ConfigSources, values: Values): boolean {
  return (
    !env['LOOKFIRST_STORE'] &&
    values.store === undefined &&
    values.policy === undefined &&
    values.preset === undefined
  );
}

/** Starts a resident for the next calls, unless one answers. A failure costs only speed, so it is reported and ignored. */
async function startResident(around: HookProcess): Promise<void> {
  if (around.platform === 'win32') return;
  const { home } = placesOf(around, {});
  const { folder, pointer } = residentPlace(home, around.uid);
  const [node, program] = around.self;
  // Loaded late, because a call that starts no resident need not load the HTTP modules.
  const { isResidentAlive } = await import('./resident/resident.ts');
  try {
    process.chdir(folder);
    if (await isResidentAlive(pointer, program)) return;
  } catch {
    // Without a folder there is no resident.
  }
  const env = { ...around.env, LOOKFIRST_SESSION: '' };
  const child = spawn(node, [program, 'hook', '--resident'], {
    cwd: '/',
    detached: true,
    env,
    stdio: 'ignore',
  });
  child.on('error', (error) => around.tell(`lookfirst: no resident process: ${error.message}`));
  child.unref();
}

async function reside(around: HookProcess): Promise<number> {
  const { home } = placesOf(around, {});
  const door = new HookDoor(around, {}, 'warm');
  const { runResident } = await import('./resident/resident.ts');
  await runResident({
    place: residentPlace(home, around.uid),
    program: around.self[1],
    idleMs: milliseconds(around.env['LOOKFIRST_RESIDENT_IDLE_MS']) ?? IDLE_MS,
    checkMs: milliseconds(around.env['LOOKFIRST_RESIDENT_CHECK_MS']) ?? CHECK_MS,
    answer: (call) => answerResident(door, call),
  });
  await door.close();
  return 0;
}

async function answerResident(door: HookDoor, { client, text, headers }: ResidentCall): Promise<HookAnswer> {
  const host = hostNamed(client);
  if (typeof host === 'string') return misused(host);
  const declaredEvent = headers['x-lookfirst-event'];
  const project = headers['x-lookfirst-project'];
  const shellPrefix = headers['x-lookfirst-shell'];
  const settings: HookSettings = {
    host,
    cwd: headers['x-lookfirst-cwd'] ?? '/',
    roots: [],
    ...(project ? { project } : {}),
    ...(shellPrefix ? { shellPrefix } : {}),
    state: {},
  };
  const onFailure = headers['x-lookfirst-failure'] === 'pass' ? 'pass' : 'deny';
  const call = { host, text, ...(declaredEvent ? { declaredEvent } : {}), onFailure } as const;
  return answerHook(call, (_host, event) => door.respond(settings, event));
}

function milliseconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** The settings of one hook call, from its command line and environment. */
interface HookSettings {
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
    const scene = { host: settings.host, session, policy, roots: workspace.roots, cwd, home, shell } as const;
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
    const opening = openUsable(roots, (list) => openWorkspace(this.#around, this.#state, list));
    if (this.#trees === 'warm')
      void opening.then(({ sessions }) => sessions?.world.processes.keepWarm()).catch(() => undefined);
    this.#open.set(name, opening);
    opening.catch(() => this.#open.delete(name));
    this.#closeOldest();
    return opening;
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
  if (project !== undefined) return [resolve(cwd, project)];
  const named = event.workspaceRoots ?? [];
  return named.length > 0 ? named.map((root) => resolve(cwd, root)) : [resolve(cwd, event.cwd ?? '.')];
}

function sessionOf({ session }: HookSettings, event: HookEvent): string {
  if (session === undefined) return event.session;
  const agent = event.session.indexOf('/');
  return agent < 0 ? session : session + event.session.slice(agent);
}
