import { spawn } from 'node:child_process';
import { errnoOf } from '../model/errno.ts';
import { Fault } from '../model/fault.ts';
import { DEFAULT_LIMITS, type RunLimits, watch } from './ripgrep-watch.ts';

const MAX_COMPLAINT_CHARS = 4000;

export interface RipgrepRun {
  readonly binary: string;
  readonly args: readonly string[];
  /**
   * A pinned directory's prefix: the child goes there by the handle before it becomes ripgrep, and inherits nothing.
   * Or open files, which it gets as 3, 4, … and which take the place of the handle's number: never both.
   */
  readonly where: { readonly folder: string } | { readonly files: readonly number[] };
  readonly signal?: AbortSignal | undefined;
  readonly limits?: RunLimits | undefined;
  /** Takes the output as it comes; `enough` ends the run. */
  readonly onOutput: (chunk: Buffer) => 'more' | 'enough';
  /** Called a few times a second while it runs, output or not. */
  readonly onLook?: (() => void) | undefined;
}

export interface RipgrepEnd {
  /**
   * `done`: to the end; `partly`: some files could not be read; `enough`: ended by us; `overrun`: see RunLimits;
   * `failed`: it refused its arguments, or was ended by someone else.
   */
  readonly how: 'done' | 'partly' | 'enough' | 'overrun' | 'failed';
  /** What ripgrep had to say against its arguments. */
  readonly complaint: string;
}

/**
 * Runs ripgrep once, without a shell, and resolves when it is gone, whoever ended it. An abort throws the signal's
 * reason. Ripgrep is given no environment: neither configuration nor colours nor a home folder.
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
      // What never started does not close.
      if (child.pid === undefined) finish(null);
    });
  });
}

/** Windows programs do not start without it; elsewhere nothing is needed. */
function environment(): Record<string, string> {
  const systemRoot = process.env['SystemRoot'];
  return process.platform === 'win32' && systemRoot !== undefined ? { SystemRoot: systemRoot } : {};
}

/** 0: found, 1: nothing found, 2: an error, which need not have been fatal. */
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
