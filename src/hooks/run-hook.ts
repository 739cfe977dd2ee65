import { spawn } from 'node:child_process';
import { UsageError } from '../config/flags.ts';
import { stateFolder, userHome } from '../config/home.ts';
import { HOOK_SHAPE, HOST_NAMES, type HookValues } from '../config/hook-flags.ts';
import { parseFlags } from '../config/parse-flags.ts';
import { residentPlace } from '../config/resident-place.ts';
import { errorText } from '../model/fault.ts';
import { defined } from '../model/record.ts';
import type { ConfigSources } from '../session/configured.ts';
import { answerHook, type HookCall } from './answer-hook.ts';
import { type HookAnswer, type Host, SILENT } from './event.ts';
import type { HookDoor, HookSettings } from './hook-door.ts';
import { HOOK_HOSTS } from './hosts/hook-hosts.ts';
import { deniedOnStderr } from './hosts/payload.ts';
import type { RemoteShells } from './remote-shells.ts';
import type { Asked, ResidentCall } from './resident/ask-resident.ts';

interface HookProcess extends ConfigSources {
  readonly args: readonly string[];
  /** The Node executable and the program file, to start a resident process with. */
  readonly self: readonly [node: string, program: string];
  readonly uid: number;
  stdin(): Promise<string>;
  print(text: string): Promise<void>;
  tell(text: string): void;
}

/**
 * The environment variable that names the program through which Claude Code runs every shell
 * command.
 */
const SHELL_PREFIX_VARIABLE = 'CLAUDE_CODE_SHELL_PREFIX';
const IDLE_MS = 10 * 60_000;
const CHECK_MS = 5_000;

/**
 * Runs `lookfirst hook`: answers one call. With `--resident`, becomes the background process that
 * answers later calls.
 */
export async function runHook(process: HookProcess): Promise<number> {
  const values = valuesOf(process.args);
  if (values instanceof UsageError) return end(process, misused(values.message));
  if (values.resident === true) return reside(process);
  if (values.client === undefined) return end(process, misused(`name the client: ${HOST_NAMES.join(', ')}`));
  const call = await callOf(process, values, HOOK_HOSTS[values.client]);
  const isShared = isDefaultState(process, values);
  if (isShared && isForResident(process, call.settings)) {
    const answer = await withPlace(process, async (place) => {
      const { askResident } = await import('./resident/ask-resident.ts');
      return askResident(place, { client: call.host.name, text: call.text, headers: headersOf(call) });
    });
    if (answer !== undefined) return end(process, answer);
  }
  try {
    return await end(process, await answerHere(process, call));
  } finally {
    if (isShared) await startResident(process);
  }
}

/** A hook call with the settings of its process. */
type ReceivedCall = HookCall & { readonly settings: HookSettings };

/** Answers the call in this process, without the resident process. */
function answerHere(process: HookProcess, call: ReceivedCall): Promise<HookAnswer> {
  return answerHook(call, async (event) => {
    // Load this module only here, because the resident process answers most calls. An error while
    // loading it denies the call.
    const { HookDoor } = await import('./hook-door.ts');
    const door = new HookDoor(process, call.settings.state);
    return thenClose(door, () => door.respond(call.settings, event), process.tell);
  });
}

/**
 * Does the work, then closes the workspaces. If the work fails, only its error is reported, because
 * hosts show only the first line of a denial.
 */
export async function thenClose<T>(
  door: Pick<HookDoor, 'close'>,
  work: () => Promise<T>,
  tell: (text: string) => void,
): Promise<T> {
  let closingFailed = (error: unknown): void => tell(`lookfirst: ${errorText(error)}`);
  try {
    return await work();
  } catch (error) {
    closingFailed = () => undefined;
    throw error;
  } finally {
    await door.close().catch(closingFailed);
  }
}

function valuesOf(args: readonly string[]): HookValues | UsageError {
  try {
    const parsed = parseFlags<HookValues>(HOOK_SHAPE, args);
    // `main` handles `--help` and `--version`.
    return parsed.kind === 'values' ? parsed.values : {};
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
}

async function callOf(process: HookProcess, values: HookValues, host: Host): Promise<ReceivedCall> {
  const { env, cwd } = process;
  const { store, policy, preset, event: declaredEvent } = values;
  const session = values.session || env['LOOKFIRST_SESSION'] || undefined;
  const shellPrefix = env[SHELL_PREFIX_VARIABLE] || undefined;
  const project = host.projectVariable === undefined ? undefined : env[host.projectVariable] || undefined;
  const roots = values.root ?? [];
  const state = defined({ store, policy, preset });
  return {
    host,
    text: await process.stdin(),
    ...defined({ declaredEvent }),
    onFailure: values.failOpen === true ? 'pass' : 'deny',
    settings: { host, cwd, roots, ...defined({ session, project, shellPrefix }), state },
  };
}

/** The headers in which the hook script, or `headersOf`, sends a call to the resident process. */
const HEADERS = {
  event: 'x-lookfirst-event',
  failure: 'x-lookfirst-failure',
  cwd: 'x-lookfirst-cwd',
  shell: 'x-lookfirst-shell',
  project: 'x-lookfirst-project',
} as const;

function headersOf({ declaredEvent, onFailure, settings }: ReceivedCall): ResidentCall['headers'] {
  return {
    [HEADERS.event]: declaredEvent,
    [HEADERS.failure]: onFailure,
    [HEADERS.cwd]: settings.cwd,
    [HEADERS.shell]: settings.shellPrefix,
    [HEADERS.project]: settings.project,
  };
}

/** The call that a resident process has received. Empty headers count as missing. */
function receivedCall(host: Host, { text, headers }: ResidentCall): ReceivedCall {
  const given = (name: keyof typeof HEADERS): string | undefined => headers[HEADERS[name]] || undefined;
  const declaredEvent = given('event');
  const shellPrefix = given('shell');
  // Ignore a project folder for a client without a project variable: hook scripts of earlier
  // versions sent the folder of another client.
  const project = host.projectVariable === undefined ? undefined : given('project');
  return {
    host,
    text,
    ...defined({ declaredEvent }),
    onFailure: given('failure') === 'pass' ? 'pass' : 'deny',
    settings: { host, cwd: given('cwd') ?? '/', roots: [], ...defined({ project, shellPrefix }), state: {} },
  };
}

/** The denial for a wrong command line. A misconfigured hook must not let changes pass. */
function misused(reason: string): HookAnswer {
  return deniedOnStderr(`lookfirst: ${reason} (lookfirst hook --help shows the usage) [INVALID_ARGUMENT]`);
}

async function end(process: HookProcess, answer: HookAnswer): Promise<number> {
  if (answer.stderr !== '') process.tell(answer.stderr.trimEnd());
  if (answer.stdout !== '') await process.print(`${answer.stdout}\n`);
  return answer.exitCode;
}

/**
 * True if the call uses the default store and policy of the state folder. The resident process
 * serves only these; other calls are answered by their own process.
 */
function isDefaultState({ env }: ConfigSources, values: HookValues): boolean {
  return (
    !env['LOOKFIRST_STORE'] &&
    values.store === undefined &&
    values.policy === undefined &&
    values.preset === undefined
  );
}

/**
 * A call with one of these variables is not sent to the resident process, which may have started
 * with another value.
 */
const OWN_VARIABLES = [
  'LOOKFIRST_WORKSPACE',
  'LOOKFIRST_SHARED_WORKSPACE',
  'LOOKFIRST_GUARANTEE',
  // Set by the hook script if the resident process has not answered the script.
  'LOOKFIRST_RESIDENT_ASKED',
];

/**
 * True if the resident process would give the same answer as this process, and the hook script has
 * not already called the resident process.
 */
function isForResident({ env, platform }: HookProcess, { roots, session }: HookSettings): boolean {
  return (
    platform !== 'win32' &&
    roots.length === 0 &&
    session === undefined &&
    OWN_VARIABLES.every((name) => !env[name])
  );
}

/**
 * Starts a resident process for the next calls, unless one is running. A failure costs only speed,
 * so the current call ignores it.
 */
async function startResident(around: HookProcess): Promise<void> {
  if (around.platform === 'win32') return;
  const { isResidentAlive, realProgram, startOnce } = await import('./resident/ask-resident.ts');
  const [node, program] = around.self;
  await withPlace(around, async (place) => {
    if (await isResidentAlive(place)) return;
    startOnce(place, () => {
      const child = spawn(node, [realProgram(program), 'hook', '--resident'], {
        cwd: '/',
        detached: true,
        env: { ...around.env, LOOKFIRST_SESSION: '', LOOKFIRST_RESIDENT_ASKED: '' },
        stdio: 'ignore',
      });
      child.on('error', (error) =>
        around.tell(`lookfirst: the resident process could not be started: ${error.message}`),
      );
      child.unref();
      return child.pid;
    });
  });
}

/**
 * Calls `ask` with the location of the resident process and returns the result of `ask`. Returns
 * undefined on an error: this process then answers the call.
 */
async function withPlace<T>(
  { cwd, uid, env, platform, self, homeFolder = userHome() }: HookProcess,
  ask: (place: Asked) => Promise<T>,
): Promise<T | undefined> {
  try {
    const place = residentPlace(stateFolder({ platform, env, homeFolder }), uid);
    return await ask({ ...place, program: self[1], uid, cwd });
  } catch {
    return undefined;
  }
}

async function reside(around: HookProcess): Promise<number> {
  const { platform, env, homeFolder = userHome() } = around;
  const home = stateFolder({ platform, env, homeFolder });
  const { HookDoor } = await import('./hook-door.ts');
  const door = new HookDoor(around, {});
  const { RemoteShells } = await import('./remote-shells.ts');
  const shells = new RemoteShells(around, (root) => door.open(root));
  const { runResident } = await import('./resident/resident.ts');
  await runResident({
    place: residentPlace(home, around.uid),
    program: around.self[1],
    idleMs: milliseconds(around.env['LOOKFIRST_RESIDENT_IDLE_MS']) ?? IDLE_MS,
    checkMs: milliseconds(around.env['LOOKFIRST_RESIDENT_CHECK_MS']) ?? CHECK_MS,
    answer: (call) => answerResident({ door, shells }, call),
    isBusy: () => shells.isBusy(),
  });
  await door.close();
  return 0;
}

/** The answer to a call. Undefined if the caller must do without this process. */
async function answerResident(
  { door, shells }: { readonly door: HookDoor; readonly shells: RemoteShells },
  received: ResidentCall,
): Promise<HookAnswer | undefined> {
  if (received.client === 'shell' || received.client === 'shell-end') {
    const text = await (received.client === 'shell' ? shells.begin(received) : shells.end(received));
    return text === undefined ? undefined : { ...SILENT, stdout: text };
  }
  const name = HOST_NAMES.find((each) => each === received.client);
  if (name === undefined) return misused(`unknown client '${received.client}'`);
  const call = receivedCall(HOOK_HOSTS[name], received);
  return answerHook(call, (event) => door.respond(call.settings, event));
}

function milliseconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
