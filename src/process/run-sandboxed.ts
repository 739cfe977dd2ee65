import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { errnoOf, Fault } from '../model/fault.ts';
import { MAX_TIMER_MS } from '../model/waiting.ts';
import { clockTicked, type Layer } from './layer.ts';
import { type SandboxPlan, type SandboxTools, START_FD, STATUS_FD, sandboxArgv } from './sandbox.ts';

/**
 * The result of a command. `exited`: it ended by itself. `ended`: it was killed, and its writes
 * must not be committed.
 */
export type CommandEnd =
  | {
      readonly kind: 'exited';
      readonly code: number;
      /** The command lines of processes that the command left running. They ended with it. */
      readonly left: readonly string[];
    }
  | { readonly kind: 'ended'; readonly why: 'timeout' | 'cancelled' }
  /** The sandbox could not be built; the command was not started. */
  | { readonly kind: 'not-started'; readonly reason: string };

interface SandboxOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The value of `COMMAND_VARIABLE` in the environment of the command's processes. */
  readonly id?: string;
  /** The command is killed after this time. Undefined means no limit. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * `inherit`: the command has this process's own input and output. A function receives the
   * command's output; the command then has no input.
   */
  readonly output: 'inherit' | ((chunk: Buffer) => void);
}

/** A plan, and the overlay layer that its command writes to. */
type SandboxRun = Omit<SandboxPlan, 'layer' | 'locale'> & {
  readonly layer: Pick<Layer, 'folder' | 'beganNs'>;
};

/** The line that the waiting sandbox reads before it starts the command. */
const START = '\n';
/** Interval at which Lookfirst tries again to kill the processes of a command that must end. */
const END_AGAIN_MS = 500;
/** The maximum length of text kept from the programs that build the sandbox. They write a few lines. */
const MAX_STATUS_CHARS = 1 << 16;

/**
 * Runs a plan until its command has ended. When the promise resolves, no process of the command is
 * left that could write to the layer: all of them live in one namespace, which ends with its first
 * process.
 */
export async function runSandboxed(
  tools: SandboxTools,
  { layer, ...plan }: SandboxRun,
  options: SandboxOptions,
): Promise<CommandEnd> {
  if (options.signal?.aborted === true) return { kind: 'ended', why: 'cancelled' };
  const stream = options.output === 'inherit' ? 'inherit' : 'pipe';
  const child = spawnSandbox(tools, { ...plan, layer: layer.folder }, { env: options.env, stream });
  let why: 'timeout' | 'cancelled' | undefined;
  let again: NodeJS.Timeout | undefined;
  const end = (reason: 'timeout' | 'cancelled'): void => {
    why ??= reason;
    // Killing bubblewrap ends all processes of its namespace. But while bubblewrap is starting, the first process of
    // the namespace would not notice that bubblewrap died, and would wait for ever. So the whole process group is
    // killed.
    if (stream === 'inherit' || !isGroupKilled(child.pid)) child.kill('SIGKILL');
    // Also kill processes by the command's id, repeatedly: a process may have left the process
    // group.
    const { id } = options;
    if (id !== undefined) again ??= setInterval(() => endCommands([id]), END_AGAIN_MS);
  };
  const cancel = (): void => end('cancelled');
  options.signal?.addEventListener('abort', cancel, { once: true });
  const { timeoutMs } = options;
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => end('timeout'), Math.min(timeoutMs, MAX_TIMER_MS));
  let status = '';
  child.stdio[STATUS_FD]?.on('data', (chunk: Buffer) => {
    if (status.length < MAX_STATUS_CHARS) status += chunk.toString('utf8');
  });
  if (options.output !== 'inherit') child.stdout?.on('data', options.output);
  try {
    begin(child.stdio[START_FD] as Duplex, layer);
    const code = await closed(child);
    return why === undefined ? endOf(status, code) : { kind: 'ended', why };
  } finally {
    clearTimeout(timer);
    clearInterval(again);
    options.signal?.removeEventListener('abort', cancel);
  }
}

/** How a command ended, by the status lines and the exit code of its sandbox. */
export function endOf(status: string, code: number | null): CommandEnd {
  const ended = /^done (\d+)$/m.exec(status)?.[1];
  if (ended !== undefined) {
    const left = [...status.matchAll(/^left (.*)$/gm)].map(([, line = '']) => line.trim());
    return { kind: 'exited', code: Number(ended), left };
  }
  // If a signal ended the sandbox, the command may have done only a part of its work, so it counts
  // as cancelled.
  if (code === null || /^started$/m.test(status)) return { kind: 'ended', why: 'cancelled' };
  return { kind: 'not-started', reason: reasonOf(status, code) };
}

function spawnSandbox(
  tools: SandboxTools,
  plan: Omit<SandboxPlan, 'locale'>,
  { env, stream }: { readonly env: SandboxOptions['env']; readonly stream: 'inherit' | 'pipe' },
): ChildProcess {
  const complete = { ...plan, locale: env['LC_ALL'] };
  const [program = '', ...args] = sandboxArgv(tools, complete);
  return started(() =>
    spawn(program, args, {
      cwd: plan.layer,
      // Use the locale `C`, because loading the files of another locale takes as long as mounting.
      // Also, `explain` in probe.ts expects English messages.
      env: { ...env, LC_ALL: 'C' },
      stdio: stdioOf(stream),
      // Give the command its own process group, so that `end` reaches every process. A command at a
      // terminal stays in the terminal's group.
      detached: stream === 'pipe',
    }),
  );
}

/** Starts a program, or throws a Fault if the system cannot start it. */
function started(start: () => ChildProcess): ChildProcess {
  try {
    const child = start();
    // Without free file descriptors, Node makes no pipes and reports the error in an event. Other
    // errors are left to `closed`.
    if ((child.stdio as unknown) !== undefined) return child;
    child.once('error', () => {});
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    throw notStarted(errno, error);
  }
  throw notStarted('EMFILE');
}

const MEANING: Readonly<Record<string, string>> = {
  E2BIG: 'the command line or the environment is too long (E2BIG)',
  EMFILE: 'this process or the system has too many open files (EMFILE)',
};

function notStarted(errno: string, cause?: unknown): Fault {
  const message = `the command was not started: ${MEANING[errno] ?? errno}`;
  return new Fault('IO_FAILED', message, { cause, reason: errno, unchanged: true });
}

/** Lets the sandbox start the command. */
function begin(start: Duplex, layer: Pick<Layer, 'folder' | 'beganNs'>): void {
  // Ignore a failed write: the sandbox may have failed, or may already be killed.
  start.on('error', () => {});
  try {
    // Wait for the next tick of the file system's clock, so that the command's writes get a later
    // time than all writes before it. The sandbox is built meanwhile.
    clockTicked(layer);
    start.end(START);
  } catch (error) {
    start.end();
    throw error;
  }
}

/** The standard streams of the sandbox, then `ERROR_FD` and `START_FD`. */
function stdioOf(stream: 'inherit' | 'pipe'): StdioOptions {
  return stream === 'inherit'
    ? ['inherit', 'inherit', 'pipe', process.stderr.fd, 'pipe']
    : ['ignore', 'pipe', 'pipe', 'ignore', 'pipe'];
}

function isGroupKilled(leader: number | undefined): boolean {
  try {
    return leader !== undefined && process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

/** The variable that names the command in the environment of each of its processes. */
export const COMMAND_VARIABLE = 'LOOKFIRST_COMMAND';

/**
 * Kills all processes that have one of these command ids in their environment. Other ways miss some
 * processes: one may have left the process group, and bubblewrap continues if Lookfirst was killed
 * while bubblewrap was starting.
 */
export function endCommands(ids: readonly string[]): void {
  if (ids.length === 0) return;
  const marks = ids.map((id) => `${COMMAND_VARIABLE}=${id}`);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
      if (marks.some((mark) => variables.includes(mark))) process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      // Ignore the error: the process has ended, or belongs to another user.
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

/** The exit code of the sandbox; null if a signal ended it. */
function closed(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(new Fault('IO_FAILED', `the sandbox could not be started: ${error.message}`, { cause: error }));
    });
    // Wait for `close`, not `exit`, so that all output has arrived: the pipes end with the last
    // process that holds them.
    child.once('close', (code) => resolve(code));
  });
}

function reasonOf(text: string, code: number): string {
  // Skip the hint that mount adds to its message, because it says nothing about the cause.
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.includes('dmesg(1)'));
  const line = lines.at(-1)?.trim() ?? '';
  return line === '' ? `the sandbox ended with ${code} before the command began` : line;
}
