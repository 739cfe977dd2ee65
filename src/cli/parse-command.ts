import { type Parsed, parseFlags } from '../config/parse-flags.ts';
import type { Cli, CliCommand } from './cli.ts';
import { acceptedFlags } from './flags.ts';

/** Parses the words after the name of a command. Throws `UsageError` for a wrong command line. */
export function parseCommand(
  command: CliCommand,
  args: readonly string[],
): Parsed<Readonly<Record<string, unknown>>> {
  return parseFlags({ ...command, flags: acceptedFlags(command) }, args);
}

/** Runs a command with words as a user would type them. */
export function runWords(cli: Cli, command: CliCommand, args: readonly string[]): Promise<number> {
  const parsed = parseCommand(command, args);
  const flags = parsed.kind === 'values' ? parsed.values : {};
  return command.run({ ...cli, flags }, flags);
}
