import { type CliCommand, defineCommand, EXIT, version } from '../cli.ts';

/** `lookfirst version`: prints the version. */
export const VERSION: CliCommand = defineCommand({
  about: 'Prints the version.',
  flags: {},
  run: async (cli, { json }) => {
    await cli.terminal.print(json === true ? JSON.stringify({ version: version() }) : version());
    return EXIT.done;
  },
});
