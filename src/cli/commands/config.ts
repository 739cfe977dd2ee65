import { Argument, Command } from 'commander';
import { policySchema } from '../../config/policy-shape.ts';
import { policySettings, type Setting } from '../../config/settings.ts';
import { jsonText } from '../../report/bounded.ts';
import type { Column } from '../../report/human.ts';
import { placeSettings, policySourcesOf, type StateFlags } from '../../session/configured.ts';
import { type Cli, EXIT } from '../cli.ts';
import { addCommonFlags, unusedSessionOption } from '../flags.ts';
import { missing, unknownWord } from '../words.ts';

interface ConfigFlags extends StateFlags {
  readonly json?: boolean;
}

const COLUMNS: readonly Column[] = [
  { title: 'SETTING' },
  { title: 'VALUE', cut: 'end', padAtMost: 24 },
  { title: 'FROM' },
  { title: 'MEANING', cut: 'end' },
];

/** `lookfirst config`: shows every setting, its value and its source. */
export function defineConfig(cli: Cli): Command {
  const command = new Command('lookfirst config')
    .description('Shows every setting in force: its value, where it comes from, and what it means.')
    .addArgument(
      new Argument('[action]', 'list every setting, get one, or print the JSON schema of a policy file')
        .choices(['list', 'get', 'schema'])
        .default('list'),
    )
    .argument('[key]', 'a setting, as in partial or journal.quotaBytes');
  return addCommonFlags(command, 'preset')
    .addOption(unusedSessionOption())
    .addHelpText('after', EXAMPLES)
    .action(async (action: 'list' | 'get' | 'schema', key: string | undefined, flags: ConfigFlags) => {
      if (action === 'get' && key === undefined) command.error(missing('KEY'));
      if (action !== 'get' && key !== undefined) command.error(`error: unexpected argument '${key}'`);
      if (action === 'schema') return printSchema(cli, flags);
      const settings = allSettings(cli, flags);
      if (key === undefined) return list(cli, settings, flags);
      const setting = settings.find((each) => each.key === key);
      if (setting === undefined) return command.error(`error: ${unknown(key, settings)}`);
      await cli.terminal.print(flags.json === true ? jsonText(setting) : valueText(setting));
      return cli.end(EXIT.done);
    });
}

const EXAMPLES = `
A value comes from a flag, the environment, the policy file, the preset, or is the default.

Examples:
  lookfirst config                       every setting
  lookfirst config get partial           the value of one setting
  lookfirst config schema > lookfirst.schema.json   for the "$schema" of a policy file
  lookfirst config --preset strict --json           the settings that a preset would give`;

/** Every setting, after a warning for each one in the policy file that no longer exists. */
function allSettings(cli: Cli, flags: ConfigFlags): readonly Setting[] {
  const sources = policySourcesOf(cli, flags);
  for (const warning of sources.file?.warnings ?? []) cli.terminal.tell(`warning: ${warning}`);
  return [...placeSettings(cli, flags), ...policySettings(sources)];
}

async function printSchema(cli: Cli, flags: ConfigFlags): Promise<void> {
  const schema = policySchema();
  await cli.terminal.print(flags.json === true ? jsonText(schema) : JSON.stringify(schema, null, 2));
  cli.end(EXIT.done);
}

async function list(cli: Cli, settings: readonly Setting[], flags: ConfigFlags): Promise<void> {
  if (flags.json === true) for (const setting of settings) await cli.terminal.printJson(setting);
  else
    await cli.terminal.printTable(
      COLUMNS,
      settings.map((setting) => [setting.key, valueText(setting), setting.origin, setting.meaning]),
    );
  cli.end(EXIT.done);
}

function valueText({ value }: Setting): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function unknown(key: string, settings: readonly Setting[]): string {
  const known = settings.map((setting) => setting.key);
  return unknownWord('setting', key, known);
}
