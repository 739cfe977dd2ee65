import { choice, text, UsageError, unknownWord, withDefault } from '../../config/flags.ts';
import { policySchema } from '../../config/policy-shape.ts';
import { policySettings, type Setting } from '../../config/settings.ts';
import { placeSettings, policySourcesOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, type ExitCode } from '../cli.ts';
import { answer, printList } from '../columns.ts';
import { STATE_FLAGS } from '../flags.ts';

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
  run: async (cli, { action, key }) => {
    if (action === 'get' && key === undefined) throw new UsageError('KEY is missing');
    if (action !== 'get' && key !== undefined) throw new UsageError(`unexpected argument '${key}'`);
    const schema = action === 'schema' ? policySchema() : undefined;
    if (schema !== undefined) return answer(cli, schema, JSON.stringify(schema, null, 2));
    const settings = allSettings(cli);
    if (key === undefined) return list(cli, settings);
    const setting = settings.find((each) => each.key === key);
    if (setting !== undefined) return answer(cli, setting, valueText(setting));
    const known = settings.map((each) => each.key);
    throw new UsageError(unknownWord('setting', key, known));
  },
});

/** Every setting, after a warning for each one in the policy file that no longer exists. */
function allSettings(cli: Cli): readonly Setting[] {
  const sources = policySourcesOf(cli, cli.flags);
  for (const warning of sources.file?.warnings ?? []) cli.terminal.tell(`warning: ${warning}`);
  return [...placeSettings(cli, cli.flags), ...policySettings(sources)];
}

function list(cli: Cli, rows: readonly Setting[]): Promise<ExitCode> {
  return printList(cli, {
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
