import { spawn } from 'node:child_process';
import { openWorkspace, type StateFlags } from '../session/configured.ts';
import { runPrefixedLine } from '../session/prefixed-line.ts';
import type { Cli } from './cli.ts';

/**
 * Runs one line of Claude Code's shell on a layer (a copy-on-write view of the workspace), in this
 * process. `lookfirst-shell` calls it if no resident process can make the layer.
 */
export async function runShellLine(cli: Cli, line: string, flags: StateFlags): Promise<number> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.on('SIGINT', end).on('SIGTERM', end);
  try {
    return await runPrefixedLine({
      line,
      around: cli,
      flags,
      runner: {
        open: async (root) => {
          const sessions = await openWorkspace(cli, flags, [root]);
          return { sessions, release: () => sessions.close() };
        },
        plainly: () => runPlainly(cli, line),
        signal: ending.signal,
        tell: (text) => cli.terminal.tell(text),
      },
    });
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
  }
}

const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Shells report that a signal ended a command as the exit code 128 plus this number. */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};

/** Runs a line as Claude Code would without us. */
function runPlainly(cli: Cli, line: string): Promise<number> {
  const child = spawn(cli.env['SHELL'] || '/bin/sh', ['-c', line], { cwd: cli.cwd, stdio: 'inherit' });
  const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of PASSED_ON) process.on(signal, passOn);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      for (const each of PASSED_ON) process.off(each, passOn);
      resolve(code ?? 128 + (SIGNAL_NUMBERS[signal ?? ''] ?? 0));
    });
  });
}
