import { Command } from 'commander';
import { type Cli, version } from '../cli.ts';

/** `lookfirst version`: prints the version. */
export function defineVersion(cli: Cli): Command {
  return new Command('lookfirst version')
    .description('Prints the version.')
    .option('--json', 'answer in JSON')
    .action(async (flags: { readonly json?: boolean }) => {
      await cli.terminal.print(flags.json === true ? JSON.stringify({ version: version() }) : version());
    });
}
