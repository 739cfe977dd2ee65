import { debuglog } from 'node:util';
import { UsageError, unknownWord, usageText } from '../config/flags.ts';
import { failureText } from '../model/fault.ts';
import { harmless, phrase } from '../report/bounded.ts';
import {
  type Cli,
  type CliCommand,
  type CommandEntry,
  EXIT,
  type ExitCode,
  timesIn,
  UnknownSession,
  version,
} from './cli.ts';
import { COMMANDS, OLD_SPELLINGS } from './command-list.ts';
import type { GlobalFlags } from './flags.ts';
import { generalHelp, helpText } from './help-text.ts';
import { parseCommand } from './parse-command.ts';
import { Terminal, type TerminalStreams } from './terminal.ts';

interface CliOptions extends Omit<Cli, 'terminal' | 'flags' | 'nowMs' | 'age'> {
  /** Everything after the program's own name. */
  readonly args: readonly string[];
  readonly streams: TerminalStreams;
}

/** Runs one command to its end and returns the exit code. Throws nothing: errors are printed on stderr. */
export async function runCli(options: CliOptions): Promise<number> {
  const { streams } = options;
  const [word = '', ...rest] = renewed(options.args, streams);
  const entry = COMMANDS.find(({ name }) => name === word);
  if (entry?.ownsStdout !== true) endQuietlyWithReader(streams);
  let cli = cliOf(options, {});
  try {
    if (entry === undefined) return await runWithoutCommand(cli, word, rest);
    const command = await entry.load();
    const parsed = parseCommand(command, rest);
    if (parsed.kind !== 'values') return await describe(cli, parsed.kind, { entry, command });
    cli = cliOf(options, parsed.values);
    prepareTerminal(cli, entry, parsed.values);
    // Fails for a policy file that is invalid, even if the command uses no policy.
    if (cli.flags.policy !== undefined) (await import('../session/configured.ts')).policyOf(cli, cli.flags);
    return await command.run(cli, parsed.values);
  } catch (error) {
    return await tellFailure(cli, error, entry);
  } finally {
    // Wait until all output is written, because the caller ends the process next.
    await cli.terminal.flushed();
  }
}

/** Replaces an old spelling of a command, and tells the user the present one. */
function renewed([word = '', ...rest]: readonly string[], { stderr }: TerminalStreams): readonly string[] {
  const present = Object.hasOwn(OLD_SPELLINGS, word) ? OLD_SPELLINGS[word] : undefined;
  if (present === undefined) return [word, ...rest];
  stderr.write(
    `lookfirst: ${word} is now ${present.join(' ')}; the old spelling goes with the next version\n`,
  );
  return [...present, ...rest];
}

function cliOf({ args: _, streams, ...rest }: CliOptions, flags: GlobalFlags): Cli {
  const nowMs = Date.now();
  const terminal = new Terminal(streams, rest.env, flags.color);
  return { ...rest, terminal, flags, nowMs, age: timesIn(flags.date ?? 'relative', nowMs) };
}

async function runWithoutCommand(cli: Cli, word: string, rest: readonly string[]): Promise<number> {
  if (word === '') return (await import('./commands/start.ts')).guideUser(cli);
  if (word === '-V' || word === '-v' || word === '--version') {
    await cli.terminal.print(version());
    return EXIT.done;
  }
  const about = word === 'help' ? rest[0] : undefined;
  const entry = COMMANDS.find(({ name }) => name === about);
  if (entry !== undefined) return describe(cli, 'help', { entry, command: await entry.load() });
  if (about !== undefined || !['help', '--help', '-h'].includes(word))
    throw new UsageError(unknownCommand(about ?? word));
  cli.terminal.page(cli.env, cli.platform);
  await cli.terminal.print(generalHelp(COMMANDS, cli.terminal.width));
  return EXIT.done;
}

function unknownCommand(word: string): string {
  const names = COMMANDS.map(({ name }) => name);
  if (!word.startsWith('-')) return unknownWord('command', phrase(word), names);
  return unknownWord('option', phrase(word), ['--help', '--version']);
}

/** Prints the help of a command, or the version. */
async function describe(
  cli: Cli,
  what: 'help' | 'version',
  { entry, command }: { readonly entry: CommandEntry; readonly command: CliCommand },
): Promise<number> {
  if (what === 'help') cli.terminal.page(cli.env, cli.platform);
  await cli.terminal.print(what === 'version' ? version() : helpText(entry, command, cli.terminal.width));
  return EXIT.done;
}

function prepareTerminal(
  { terminal, env, platform, flags }: Cli,
  { ownsStdout, runsProgram, isPaged }: CommandEntry,
  { follow }: Readonly<Record<string, unknown>>,
): void {
  if (isPaged === true && flags.json !== true && follow !== true) terminal.page(env, platform);
  if (ownsStdout !== true && runsProgram !== true) terminal.sayIfSilent();
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

async function tellFailure(cli: Cli, error: unknown, entry: CommandEntry | undefined): Promise<ExitCode> {
  const { terminal } = cli;
  if (error instanceof UnknownSession)
    return (await import('./refusal-text.ts')).tellNoSession(cli, error.session);
  if (error instanceof UsageError) {
    const help =
      entry === undefined
        ? 'lookfirst --help lists the commands'
        : `lookfirst ${entry.name} --help lists the options`;
    terminal.tell(harmless(`${usageText(error)}\n(${help})`));
    return EXIT.usage;
  }
  debuglog('lookfirst')('%o', error);
  terminal.tellFault(harmless(`lookfirst: ${failureText(error)}`));
  return EXIT.fault;
}
