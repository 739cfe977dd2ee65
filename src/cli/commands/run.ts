import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { several, text, toggle, UsageError, type Values, words } from '../../config/flags.ts';
import { COMMAND_LINE } from '../../model/entry.ts';
import type { RunResult } from '../../model/results.ts';
import type { RunOptions, Command as SandboxedCommand } from '../../model/session.ts';
import type { Refusal, RefusalCode } from '../../model/verdict.ts';
import { harmless } from '../../report/bounded.ts';
import { changeWords, endedWords } from '../../report/command-words.ts';
import { commandRoot } from '../../session/command-places.ts';
import { openWorkspace, sessionVariable } from '../../session/configured.ts';
import { runPrefixedLine } from '../../session/prefixed-line.ts';
import { type Cli, type CliCommand, defineCommand, EXIT } from '../cli.ts';
import { duration, STATE_FLAGS } from '../flags.ts';
import { refuseAgent, startedByAgent } from '../operator.ts';
import { tellRefusal } from '../refusal-text.ts';

const FLAGS = {
  ...STATE_FLAGS,
  root: several('DIR', 'the workspace (repeatable; default: the repository around the current folder)'),
  session: text('ID', 'the session that makes the change (LOOKFIRST_SESSION)'),
  discard: toggle('run the command and discard its changes'),
  dryRun: toggle('like --discard, but show what the command would have changed'),
  confine: toggle(
    "run the command without network, capabilities or the home folder's secrets, and with a private /tmp and limits",
  ),
  network: toggle('with --confine: allow the network'),
  timeout: duration('stop the command after this time, as in 30s or 5m; it then changes nothing'),
  apply: text('CHANGE', 'commit the kept writes of a refused command, even over later changes'),
  prefix: { ...text('LINE', 'a shell line of Claude Code'), isHidden: true },
} as const;

type Flags = Values<typeof FLAGS>;

/** `lookfirst run`: runs a command whose changes can be undone. */
export const RUN: CliCommand = defineCommand({
  about:
    'Runs a command on a copy-on-write layer over the workspace, shows what it changed, and commits that as one change you can undo.',
  args: { command: { ...words('COMMAND', 'the program and its arguments'), mayBeEmpty: true } },
  startsProgram: true,
  flags: FLAGS,
  notes: `
It exits with the command's own exit code. If nothing was run or committed, it exits with 2
(refused) or 1 (fault) and prints the reason on stderr. If another program changed a file meanwhile,
the two changes are merged, or the command is refused and its writes are kept for 7 days.

Examples:
  lookfirst run -- npm test
  lookfirst run -- sh -c 'for f in *.md; do sed -i s/colour/color/ "$f"; done'
  lookfirst run --dry-run -- make format
  lookfirst run --confine -- ./untrusted.sh
  lookfirst run --apply c0a1b2c3d4e`,
  run: async (cli, { command = [], ...flags }) => {
    if (command.length === 0 && flags.apply === undefined && flags.prefix === undefined)
      throw new UsageError('COMMAND is missing: put -- and the command at the end');
    if (command.length > 0 && flags.apply !== undefined)
      throw new UsageError('either a command or --apply, not both');
    if (flags.network === true && flags.confine !== true) throw new UsageError('--network needs --confine');
    return flags.prefix === undefined ? run(cli, command, flags) : runShellLine(cli, flags.prefix);
  },
});

async function run(cli: Cli, words: readonly string[], flags: Flags): Promise<number> {
  // `--apply` commits the writes of a refused command, even over other writers' changes, so only the user may use
  // it.
  const refused = flags.apply === undefined ? undefined : await refuseAgent(cli, 'run --apply');
  return refused ?? runOnLayer(cli, words, flags);
}

async function runOnLayer(cli: Cli, words: readonly string[], flags: Flags): Promise<number> {
  const roots = (flags.root ?? [commandRoot(cli)]).map((root) => resolve(cli.cwd, root));
  const id = flags.session || sessionVariable(cli) || COMMAND_LINE;
  const sessions = await openWorkspace(cli, cli.flags, roots);
  try {
    const session = await sessions.session(id);
    const command: SandboxedCommand = flags.apply === undefined ? words : { kept: flags.apply };
    const by = id === COMMAND_LINE && startedByAgent(cli) === undefined ? 'user' : 'agent';
    const options = { ...optionsOf(cli, flags), cwd: flags.root === undefined ? cli.cwd : undefined };
    const outcome = await untilSignal((signal) => session.runBy(by, command, { ...options, signal }));
    if (outcome.ok) return await show(cli, outcome, flags);
    return await tellRefusal(cli, outcome.refusal, hintFor(cli, outcome.refusal));
  } finally {
    await sessions.close();
  }
}

/**
 * Aborts a run on a signal, so that nothing is committed. The terminal sends the signal to the
 * command too, which may then have done only half of its work.
 */
async function untilSignal<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.on('SIGINT', end).on('SIGTERM', end);
  try {
    return await run(ending.signal);
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
  }
}

/**
 * Codes of the refusals that `--apply` overrides. For any other code, the user must remove the
 * cause before `--apply` works.
 */
const OVERRULED: ReadonlySet<RefusalCode> = new Set([
  'COMMAND_CONFLICT',
  'NOT_READ',
  'PARTIALLY_READ',
  'STALE',
]);

function hintFor(cli: Cli, { code, next, detail }: Refusal): string | undefined {
  if (next === 'repeat') return 'If you repeat the same command, it runs, and Lookfirst backs them up first.';
  const layer = startedByAgent(cli) === undefined ? detail?.layer : undefined;
  return layer === undefined ? undefined : applyHint(layer, code);
}

function applyHint(layer: string, code: RefusalCode): string {
  return `lookfirst run --apply ${layer} commits its writes ${OVERRULED.has(code) ? 'anyway' : 'after the cause is removed'}.`;
}

function optionsOf(
  { flags: { json } }: Cli,
  { discard, dryRun, readOnly, confine, network, timeout }: Flags,
): RunOptions {
  return {
    profile: confine === true ? 'confine' : 'undo',
    ...(network === true ? { network: 'on' } : {}),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(discard === true || dryRun === true || readOnly === true ? { writes: 'discard' } : {}),
    output: json === true ? 'kept' : 'inherit',
  };
}

async function show(cli: Cli, result: RunResult, flags: Flags): Promise<number> {
  if (cli.flags.json === true) await cli.terminal.printJson(result);
  // Print to stderr, because stdout belongs to the command that ran.
  else {
    const lines = flags.discard === true ? endedWords(result) : changeWords(result);
    for (const line of lines) cli.terminal.tell(harmless(line));
  }
  if (result.ended === undefined) return result.exitCode ?? EXIT.done;
  cli.terminal.tell('lookfirst: the command was stopped, and none of its changes were committed');
  return EXIT.refused;
}

/**
 * Runs one line of Claude Code's shell on a layer (a copy-on-write view of the workspace), in this
 * process. `lookfirst-shell` calls it if no resident process can make the layer.
 */
function runShellLine(cli: Cli, line: string): Promise<number> {
  const { flags } = cli;
  return untilSignal((signal) =>
    runPrefixedLine({
      line,
      around: cli,
      flags,
      runner: {
        open: async (root) => {
          const sessions = await openWorkspace(cli, flags, [root]);
          return { sessions, release: () => sessions.close() };
        },
        plainly: () => runPlainly(cli, line),
        signal,
        tell: (text) => cli.terminal.tell(text),
      },
    }),
  );
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
