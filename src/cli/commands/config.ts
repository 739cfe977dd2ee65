import { choice, text, UsageError, unknownWord, withDefault } from '../../config/flags.ts';
import { policySchema } from '../../config/policy-shape.ts';
import { policySettings, type Setting } from '../../config/settings.ts';
import { jsonText } from '../../report/bounded.ts';
import { placeSettings, policySourcesOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { printList } from '../columns.ts';
import { type Given, STATE_FLAGS } from '../flags.ts';

type ConfigFlags = Given<typeof STATE_FLAGS>;

/** `lookfirst config`: shows every setting, its value and its source. */
export const CONFIG: CliCommand = defineCommand({
  about: 'Shows every setting in force: its value, where it comes from, and what it means.',
  args: {
    action: withDefault(
      choice('ACTION', 'list every setting, get one, or print the JSON schema of a policy file', [
        'list',
        'get',
        'schema',
      ]),
      'list',
    ),
    key: text('KEY', 'a setting, as in partial or journal.quotaBytes'),
  },
  flags: STATE_FLAGS,
  notes: `
A value comes from a flag, the environment, the policy file or the preset, or is the default.

Examples:
  lookfirst config                       every setting
  lookfirst config get partial           the value of one setting
  lookfirst config schema > lookfirst.schema.json   for the "$schema" of a policy file
  lookfirst config --preset strict --json           the settings a preset would give`,
  run: async (cli, { action, key, ...flags }) => {
    if (action === 'get' && key === undefined) throw new UsageError('KEY is missing');
    if (action !== 'get' && key !== undefined) throw new UsageError(`unexpected argument '${key}'`);
    if (action === 'schema') return printSchema(cli, flags);
    const settings = allSettings(cli, flags);
    if (key === undefined) return list(cli, settings, flags);
    const setting = settings.find((each) => each.key === key);
    if (setting === undefined) throw new UsageError(unknown(key, settings));
    await cli.terminal.print(flags.json === true ? jsonText(setting) : valueText(setting));
    return EXIT.done;
  },
});

/** Every setting, after a warning for each one in the policy file that no longer exists. */
function allSettings(cli: Cli, flags: ConfigFlags): readonly Setting[] {
  const sources = policySourcesOf(cli, flags);
  for (const warning of sources.file?.warnings ?? []) cli.terminal.tell(`warning: ${warning}`);
  return [...placeSettings(cli, flags), ...policySettings(sources)];
}

async function printSchema(cli: Cli, flags: ConfigFlags): Promise<ExitCode> {
  const schema = policySchema();
  await cli.terminal.print(flags.json === true ? jsonText(schema) : JSON.stringify(schema, null, 2));
  return EXIT.done;
}

function list(cli: Cli, rows: readonly Setting[], flags: ConfigFlags): Promise<ExitCode> {
  return printList(cli, flags, {
    rows,
    columns: [
      { title: 'SETTING', cell: ({ key }) => key },
      { title: 'VALUE', cut: 'end', padAtMost: 24, cell: valueText },
      { title: 'FROM', cell: ({ origin }) => origin },
      { title: 'MEANING', cut: 'end', cell: ({ meaning }) => meaning },
    ],
    json: (setting) => setting,
    none: '',
  });
}

function valueText({ value }: Setting): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function unknown(key: string, settings: readonly Setting[]): string {
  const known = settings.map((setting) => setting.key);
  return unknownWord('setting', key, known);
}
