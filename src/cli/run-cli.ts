import { Fault } from '../model/fault.ts';
import { harmless, phrase } from '../report/bounded.ts';
import type { RunProxy } from '../tools/proxy-plan.ts';
import { type Cli, EXIT, type ExitCode, type RunViewer, version } from './cli.ts';
import { COMMANDS } from './command-list.ts';
import { conventional } from './conventions.ts';
import { colourChoice, Terminal, type TerminalStreams } from './terminal.ts';
import { Times, unknownWord } from './words.ts';

interface CliOptions {
  /** Everything after the program's own name. */
  readonly args: readonly string[];
  readonly streams: TerminalStreams;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  readonly homeFolder: string | undefined;
  /** The command line that starts this program: an executable and its first arguments. */
  readonly self: readonly string[];
  readonly runProxy: RunProxy;
  readonly runViewer: RunViewer;
}

/** Runs one command to its end and returns the exit code. Throws nothing: errors are printed on stderr. */
export async function runCli(options: CliOptions): Promise<number> {
  const { args, streams, ...rest } = options;
  const terminal = new Terminal(streams, options.env, colourChoice(args));
  if (isPaged(args)) terminal.page(options.env, options.platform);
  let code: number = EXIT.done;
  const nowMs = Date.now();
  const cli: Cli = {
    ...rest,
    terminal,
    nowMs,
    times: new Times(args, nowMs),
    end: (given) => {
      code = given;
    },
  };
  const { ownsStdout, runsProgram } = COMMANDS.find(({ name }) => name === args[0]) ?? {};
  if (ownsStdout !== true) endQuietlyWithReader(streams);
  if (ownsStdout !== true && runsProgram !== true) terminal.sayIfSilent();
  try {
    await dispatch(cli, args);
    return code;
  } catch (error) {
    return tellFailure(terminal, error);
  } finally {
    // Wait until all output is written, because the caller ends the process next.
    await terminal.flushed();
  }
}

/**
 * True for answers that a terminal shows in a pager: help, and long answers that users read from
 * the beginning.
 */
function isPaged(args: readonly string[]): boolean {
  if (args.includes('--json') || args.includes('--follow')) return false;
  return (
    args.includes('--help') ||
    args[0] === 'help' ||
    COMMANDS.some(({ name, isPaged: paged }) => name === args[0] && paged === true)
  );
}

async function dispatch(cli: Cli, args: readonly string[]): Promise<void> {
  const [word, ...rest] = args;
  if (word === '-V' || isVersion([word])) return cli.terminal.print(version());
  if (word === undefined) return (await import('./commands/start.ts')).guideUser(cli);
  if (word === '--help' || word === '-h') return cli.terminal.print(generalHelp());
  if (word === 'help') {
    const [about] = rest;
    return about === undefined ? cli.terminal.print(generalHelp()) : dispatch(cli, [about, '--help']);
  }
  const entry = COMMANDS.find((command) => command.name === word);
  if (entry === undefined) return unknownCommand(cli, word);
  const command = conventional((await entry.load())(cli), entry, cli.terminal);
  if (entry.runsElsewhere === true) rest.splice(0, rest.length, isVersion(rest) ? '--version' : '--help');
  command.hook('preAction', () => checkNamedPolicy(cli, command.opts()));
  await command.parseAsync(rest, { from: 'user' });
}

/** Throws if the policy file that the user names is invalid, even if the command uses no policy. */
async function checkNamedPolicy(cli: Cli, { policy }: { readonly policy?: unknown }): Promise<void> {
  if (typeof policy !== 'string') return;
  const { policyOf } = await import('../session/configured.ts');
  policyOf(cli, { policy });
}

function isVersion(words: readonly (string | undefined)[]): boolean {
  return words.includes('--version') || words.includes('-v');
}

function unknownCommand(cli: Cli, word: string): void {
  const names = COMMANDS.map((command) => command.name);
  const what = word.startsWith('-') ? 'option' : 'command';
  cli.terminal.tell(
    `error: ${unknownWord(what, phrase(word), names)}\n(lookfirst --help lists the commands)`,
  );
  cli.end(EXIT.usage);
}

/**
 * Exits with success if a reader such as `head` closes our output early. Any other write error, such as a full disk,
 * is a failure.
 */
function endQuietlyWithReader({ stdout, stderr }: TerminalStreams): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    stderr.write(`lookfirst: the output cannot be written: ${error.message} [IO_FAILED]\n`);
    process.exit(EXIT.fault);
  });
}

function tellFailure(terminal: Terminal, error: unknown): ExitCode {
  const usage = usageCode(error);
  if (usage !== undefined) return usage;
  if (error instanceof Fault) terminal.tellFault(harmless(`lookfirst: ${error.message} [${error.code}]`));
  else {
    // This is a bug, so the message includes the stack.
    terminal.tellFault(
      `lookfirst: unexpected failure: ${error instanceof Error ? error.stack : String(error)}`,
    );
  }
  return EXIT.fault;
}

/**
 * The exit code for an error of the argument parser, including help and version; undefined for any
 * other error.
 */
function usageCode(error: unknown): ExitCode | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  if (!error.code.startsWith('commander.')) return undefined;
  return 'exitCode' in error && error.exitCode === 0 ? EXIT.done : EXIT.usage;
}

/** The text of `lookfirst --help`. */
function generalHelp(): string {
  const width = Math.max(...COMMANDS.map(({ usage }) => usage.length));
  const commands = COMMANDS.map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`);
  return [
    'Usage: lookfirst COMMAND [options]',
    '',
    'A gate between AI agents and files: an agent cannot overwrite, edit or delete a file that it has',
    'not read, or a change that it has not seen. Its changes can be undone.',
    '',
    'Commands:',
    ...commands,
    '',
    'lookfirst COMMAND --help shows the options of a command and examples.',
    '',
    'Environment: LOOKFIRST_HOME (state folder), LOOKFIRST_SESSION, LOOKFIRST_STORE, LOOKFIRST_TOKEN,',
    'LOOKFIRST_PAGER (otherwise PAGER or less; empty or cat: no pager).',
    'Flags win over the environment, the environment over the policy file.',
    'Exit codes: 0 done, 1 failure, 2 refused, 64 wrong usage.',
  ].join('\n');
}
