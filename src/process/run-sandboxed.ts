import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { MAX_TIMER_MS } from '../model/awaitable.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { clockTicked, type Layer } from './layer.ts';
import { perlArgv } from './perl/perl-sandbox.ts';
import {
  bubblewrapArgv,
  type PerlTools,
  type SandboxPlan,
  type SandboxTools,
  START_FD,
  STATUS_FD,
} from './sandbox.ts';

/**
 * The result of a command. `exited`: it ended by itself. `ended`: it was killed, and its writes
 * must not be committed.
 */
export type CommandEnd =
  | { readonly kind: 'exited'; readonly code: number }
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

/**
 * A plan, and the overlay layer that its command writes to. `make` creates the layer. With Perl, it
 * is called while Perl starts; with bubblewrap, before bubblewrap starts.
 */
type SandboxRun = Omit<SandboxPlan, 'layer' | 'locale'> & {
  readonly layer: { readonly folder: string; readonly make: () => Pick<Layer, 'folder' | 'beganNs'> };
};

/**
 * The bytes that the waiting sandbox reads. `MOUNT`, only for Perl: the layer exists and can be
 * mounted. `START`: the command may start.
 */
const MOUNT = 'm';
const START = '.';
/** Interval at which Lookfirst tries again to kill the processes of a command that must end. */
const END_AGAIN_MS = 500;
/** The maximum length of error text kept from bubblewrap and mount, which report a failure in one line. */
const MAX_REASON_CHARS = 2000;

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
  const perl = plan.profile.kind === 'undo' ? tools.perl : undefined;
  const stream = options.output === 'inherit' ? 'inherit' : 'pipe';
  // Bubblewrap mounts the layer immediately, so the layer must exist before bubblewrap starts.
  if (perl === undefined) layer.make();
  const child = spawnSandbox(tools, { ...plan, layer: layer.folder }, { env: options.env, stream });
  const statusPipe = child.stdio[STATUS_FD] as Duplex;
  const start = perl === undefined ? (child.stdio[START_FD] as Duplex) : statusPipe;
  const told = perl === undefined ? [child.stdout, child.stderr] : [statusPipe];
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
  let reason = '';
  const done = new Promise<number>((resolve) => {
    statusPipe.on('data', (chunk: Buffer) => {
      status += chunk.toString('utf8');
      const code = /^done (\d+)$/m.exec(status)?.[1];
      if (code !== undefined) void ended([child.stdout, child.stderr]).then(() => resolve(Number(code)));
    });
  });
  // Ignore a failed write of the byte that starts the command: the sandbox may already be killed.
  start.on('error', () => {});
  if (options.output !== 'inherit') child.stdout?.on('data', options.output);
  for (const each of told) {
    each?.on('data', (chunk: Buffer) => {
      if (reason.length < MAX_REASON_CHARS) reason += chunk.toString('utf8');
    });
  }
  try {
    begin(start, layer.make, perl);
    const code = await Promise.race([done, closed(child)]);
    if (why !== undefined) return { kind: 'ended', why };
    // If a signal ended the sandbox, the command may have done only a part of its work, so it
    // counts as cancelled.
    if (code === null) return { kind: 'ended', why: 'cancelled' };
    // Without an exit code in the status, the sandbox failed before it started the command.
    if (!/exit-code|^done /m.test(status)) return { kind: 'not-started', reason: reasonOf(reason, code) };
    return { kind: 'exited', code };
  } finally {
    clearTimeout(timer);
    clearInterval(again);
    options.signal?.removeEventListener('abort', cancel);
  }
}

function spawnSandbox(
  tools: SandboxTools,
  plan: Omit<SandboxPlan, 'locale'>,
  { env, stream }: { readonly env: SandboxOptions['env']; readonly stream: 'inherit' | 'pipe' },
): ChildProcess {
  const complete = { ...plan, locale: env['LC_ALL'] };
  const perl = plan.profile.kind === 'undo' ? tools.perl : undefined;
  const [program = '', ...args] =
    perl === undefined ? bubblewrapArgv(tools, complete) : perlArgv(tools, perl, complete);
  return started(() =>
    spawn(program, args, {
      cwd: perl === undefined ? plan.layer : '/',
      // Use the locale `C`, because loading the files of another locale takes as long as mounting.
      // Also, `explain` in probe.ts expects English messages.
      env: { ...env, LC_ALL: 'C' },
      stdio: stdioOf(stream, perl),
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

/** Lets the sandbox mount the layer and start the command. If the layer cannot be made, the sandbox ends. */
function begin(start: Duplex, make: SandboxRun['layer']['make'], perl: PerlTools | undefined): void {
  try {
    const layer = make();
    if (perl !== undefined) start.write(MOUNT);
    // Wait for the next tick of the file system's clock, so that the command's writes get a later
    // time than all writes before it. The sandbox is built meanwhile.
    clockTicked(layer);
    start.end(START);
  } catch (error) {
    start.end();
    throw error;
  }
}

/**
 * The pipes between this process and the sandbox, as few as possible: each costs 0.1 ms. Perl uses
 * a single pipe to send its messages and to receive `MOUNT` and `START`. Perl also writes the
 * command's standard error to standard output.
 */
function stdioOf(stream: 'inherit' | 'pipe', perl: PerlTools | undefined): StdioOptions {
  if (stream === 'inherit')
    return ['inherit', 'inherit', 'inherit', 'pipe', ...(perl === undefined ? ['pipe' as const] : [])];
  return perl === undefined
    ? ['ignore', 'pipe', 'pipe', 'pipe', 'pipe']
    : ['ignore', 'pipe', 'ignore', 'pipe'];
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

/** Resolves when all of these streams have ended. */
async function ended(streams: readonly (Readable | null)[]): Promise<void> {
  await Promise.all(
    streams.map(
      (stream) => stream === null || stream.readableEnded || stream.closed || once(stream, 'close'),
    ),
  );
}

function reasonOf(text: string, code: number): string {
  // Skip the hint that mount adds to its message, because it says nothing about the cause.
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.includes('dmesg(1)'));
  const line = lines.at(-1)?.trim() ?? '';
  return line === '' ? `the sandbox ended with ${code} before the command began` : line;
}
