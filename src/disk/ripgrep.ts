import { spawn } from 'node:child_process';
import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, isAbsolute, join } from 'node:path';
import { errnoOf, Fault } from '../model/fault.ts';
import { MAX_TIMER_MS } from '../model/waiting.ts';

const MAX_COMPLAINT_CHARS = 4000;

interface RipgrepRun {
  readonly binary: string;
  readonly args: readonly string[];
  /**
   * `folder`: the path of an open folder handle; the child runs in that folder. `files`: open
   * files, which the child inherits as descriptors 3, 4, … A run cannot use both, because these
   * numbers could collide with the number of the folder's handle.
   */
  readonly where: { readonly folder: string } | { readonly files: readonly number[] };
  readonly signal?: AbortSignal | undefined;
  readonly limits?: RunLimits | undefined;
  /** Receives output as it arrives; returning `enough` stops the run. */
  readonly onOutput: (chunk: Buffer) => 'more' | 'enough';
  /** Called a few times per second during the run, with or without output. */
  readonly onTick?: (() => void) | undefined;
}

export interface RipgrepEnd {
  /**
   * `done`: completed; `partly`: some files could not be read; `enough`: `onOutput` stopped the
   * run; `overrun`: exceeded RunLimits; `failed`: ripgrep rejected its arguments, or another
   * process killed it.
   */
  readonly how: 'done' | 'partly' | 'enough' | 'overrun' | 'failed';
  /** Ripgrep's error output about its arguments. */
  readonly complaint: string;
}

/**
 * Runs ripgrep once, without a shell, and resolves when the process has ended for any reason. An
 * abort throws the signal's reason. Ripgrep gets an empty environment: no configuration, colours or
 * home folder.
 */
export async function runRipgrep(run: RipgrepRun): Promise<RipgrepEnd> {
  run.signal?.throwIfAborted();
  const child = spawn(run.binary, [...run.args], {
    cwd: 'folder' in run.where ? run.where.folder : '/',
    env: environment(),
    windowsHide: true,
    stdio: ['ignore', 'pipe', 'pipe', ...('files' in run.where ? run.where.files : [])],
  });
  return new Promise((resolve, reject) => {
    let stopped: 'enough' | 'overrun' | undefined;
    let failure: unknown;
    let complaint = '';
    const stop = (why: 'enough' | 'overrun'): void => {
      stopped ??= why;
      child.kill('SIGKILL');
    };
    const onAbort = (): void => stop('enough');
    const unwatch = watch(child.pid ?? 0, run.limits ?? DEFAULT_LIMITS, {
      onOverrun: () => stop('overrun'),
      onTick: () => run.onTick?.(),
    });
    run.signal?.addEventListener('abort', onAbort, { once: true });
    child.stdout?.on('data', (chunk: Buffer) => {
      if (stopped !== undefined) return;
      try {
        if (run.onOutput(chunk) === 'enough') stop('enough');
      } catch (error) {
        failure = error;
        stop('enough');
      }
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, MAX_COMPLAINT_CHARS);
    });
    const finish = (code: number | null): void => {
      unwatch();
      run.signal?.removeEventListener('abort', onAbort);
      if (run.signal?.aborted) reject(run.signal.reason);
      else if (failure !== undefined) reject(failure);
      else resolve({ how: stopped ?? endOf(code, complaint), complaint });
    };
    child.once('close', finish);
    child.once('error', (error) => {
      failure ??= cannotStart(run.binary, error);
      // End here if the process never started: it then emits no `close` event.
      if (child.pid === undefined) finish(null);
    });
  });
}

/**
 * The environment of ripgrep: empty, except for SystemRoot, without which Windows programs do not
 * start.
 */
function environment(): Record<string, string> {
  const systemRoot = process.env['SystemRoot'];
  return process.platform === 'win32' && systemRoot !== undefined ? { SystemRoot: systemRoot } : {};
}

/**
 * Interprets ripgrep's exit code. 0: found, 1: nothing found, 2: an error. An error that does not
 * concern the arguments means that some files could not be read.
 */
function endOf(code: number | null, complaint: string): RipgrepEnd['how'] {
  if (code === 0 || code === 1) return 'done';
  return code === 2 && complaint === '' ? 'partly' : 'failed';
}

function cannotStart(binary: string, error: Error): Fault {
  const errno = errnoOf(error) ?? String(error);
  const broken = errno === 'ENOENT' || errno === 'EACCES' || errno === 'ENOEXEC';
  return new Fault(
    broken ? 'CONFIG_INVALID' : 'IO_FAILED',
    `ripgrep could not be started (${errno}): ${binary}`,
    {
      cause: error,
      reason: broken ? 'ripgrep' : errno,
    },
  );
}

/** The time and memory after which a run is stopped. */
interface RunLimits {
  readonly timeMs: number;
  readonly memoryBytes: number;
}

/**
 * Limits are necessary: a `.gitignore` that is a FIFO blocks ripgrep forever, and a link to an
 * endless device fills memory. Most clients time out after a minute, so a truncated answer must
 * arrive earlier.
 */
export const DEFAULT_LIMITS: RunLimits = { timeMs: 45_000, memoryBytes: 1 << 30 };

const TICK_MS = 100;
const PAGE_BYTES = 4096;

interface Watcher {
  /** Called when the process exceeds a limit. */
  onOverrun(): void;
  /** Called a few times per second while the process runs. */
  onTick(): void;
}

/** Watches a process. Returns a function that stops watching. */
function watch(pid: number, limits: RunLimits, watcher: Watcher): () => void {
  const deadline = setTimeout(() => watcher.onOverrun(), Math.min(limits.timeMs, MAX_TIMER_MS));
  const ticks = setInterval(() => {
    if (residentBytes(pid) > limits.memoryBytes) watcher.onOverrun();
    else watcher.onTick();
  }, TICK_MS);
  return () => {
    clearTimeout(deadline);
    clearInterval(ticks);
  };
}

/** Memory in use; 0 if the system does not report it or the process has ended. */
function residentBytes(pid: number): number {
  try {
    const pages = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1];
    return Number(pages) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/** The places in which to look for ripgrep; default: the npm package, then PATH. */
interface RipgrepSource {
  /** Returns the path of the packaged binary; throws if the package for this platform is not installed. */
  readonly packaged?: () => Promise<string>;
  /** Folders to search if the package is not installed, in PATH syntax. */
  readonly searchPath?: string;
}

/**
 * Finds ripgrep: the packaged binary, else `rg` on PATH. Skips relative folders and folders below
 * `roots`, where an agent could have put its own program.
 */
export async function findRipgrep(source: RipgrepSource, roots: readonly string[]): Promise<string> {
  const packaged = await packagedBinary(source.packaged ?? packagedPath);
  if (packaged !== undefined) return packaged;
  const name = process.platform === 'win32' ? 'rg.exe' : 'rg';
  for (const folder of (source.searchPath ?? process.env['PATH'] ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const found = executable(join(folder, name));
    if (found !== undefined && !roots.some((root) => isBelow(root, found))) return found;
  }
  throw new Fault(
    'CONFIG_INVALID',
    'finding files and searching text need ripgrep, which is not installed: ' +
      'install lookfirst with its optional packages (npm install --include=optional), ' +
      'or put ripgrep 13 or newer on PATH as rg',
    { reason: 'ripgrep' },
  );
}

/**
 * Loads the package on demand, because it throws while loading if its optional binary is missing. Uses `require`,
 * because Node 20 does not cache compiled code of a bundle that uses `import()`.
 */
async function packagedPath(): Promise<string> {
  const require = createRequire(import.meta.url);
  // The package has no types. `rgPath` is its only export.
  return (require('@vscode/ripgrep') as { rgPath: string }).rgPath;
}

async function packagedBinary(load: () => Promise<string>): Promise<string | undefined> {
  try {
    return executable(await load());
  } catch {
    return undefined;
  }
}

/** The real path of an executable file, with all links resolved; undefined if it cannot be run. */
function executable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}

function isBelow(root: string, path: string): boolean {
  const slashes = path.replaceAll('\\', '/');
  return slashes.startsWith(root.endsWith('/') ? root : `${root}/`);
}
