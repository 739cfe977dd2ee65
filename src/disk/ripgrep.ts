import { spawn } from 'node:child_process';
import { errnoOf } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';
import { DEFAULT_LIMITS, type RunLimits, watch } from './ripgrep-watch.ts';

const MAX_COMPLAINT_CHARS = 4000;

export interface RipgrepRun {
  readonly binary: string;
  readonly args: readonly string[];
  /**
   * `folder`: the prefix of a pinned directory; the child changes into it through the handle and
   * inherits no descriptor. `files`: open files, inherited as descriptors 3, 4, … These numbers may
   * collide with the handle's, so a run uses one or the other.
   */
  readonly where: { readonly folder: string } | { readonly files: readonly number[] };
  readonly signal?: AbortSignal | undefined;
  readonly limits?: RunLimits | undefined;
  /** Receives output as it arrives; returning `enough` stops the run. */
  readonly onOutput: (chunk: Buffer) => 'more' | 'enough';
  /** Called a few times per second during the run, with or without output. */
  readonly onLook?: (() => void) | undefined;
}

export interface RipgrepEnd {
  /**
   * `done`: completed; `partly`: some files could not be read; `enough`: stopped by us; `overrun`:
   * exceeded RunLimits; `failed`: ripgrep rejected its arguments, or another process killed it.
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
      onLook: () => run.onLook?.(),
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
      // A process that never started emits no `close` event.
      if (child.pid === undefined) finish(null);
    });
  });
}

/** Windows programs need SystemRoot to start; other systems need nothing. */
function environment(): Record<string, string> {
  const systemRoot = process.env['SystemRoot'];
  return process.platform === 'win32' && systemRoot !== undefined ? { SystemRoot: systemRoot } : {};
}

/** Exit code 0: found, 1: nothing found, 2: an error, which may not be fatal. */
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
