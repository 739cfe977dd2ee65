import { text } from '../../config/flags.ts';
import type { Entry } from '../../model/entry.ts';
import { EntryChoice } from '../../records/entry-choice.ts';
import { type NetEffect, netEffects, withoutImplied } from '../../records/net-effects.ts';
import { type PathDiff, pathDiff, pathDiffText } from '../../records/path-diffs.ts';
import type { Records } from '../../records/records.ts';
import { canonicalPath, isInScope } from '../../records/scope.ts';
import { apartFromGit, GITS_OWN_FILES } from '../../report/git-files.ts';
import { paintDiff } from '../../report/human.ts';
import { policyOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { checkPeriod, entryRequest, FILTER_FLAGS, type Given, maxLines, STATE_FLAGS } from '../flags.ts';
import { LISTS_CHANGES, namedChange, namedSession, tellMissing } from '../refusal-text.ts';
import { withRecords } from '../with-records.ts';

const FLAGS = { ...STATE_FLAGS, ...FILTER_FLAGS, maxLines: maxLines(1000) } as const;

type DiffFlags = Given<typeof FLAGS>;

/** `lookfirst diff`: shows the effect of one change, or of many together. */
export const DIFF: CliCommand = defineCommand({
  about:
    'Shows what a change did to the files. With a session or a time: what all those changes did together.',
  args: { change: text('CHANGE', "a change's id, from lookfirst log; default: the latest one here") },
  flags: FLAGS,
  notes: `
Examples:
  lookfirst diff                         the latest change here
  lookfirst diff c0a1b2c3d4e             that change
  lookfirst diff --path src/a.ts         that file's latest change
  lookfirst diff --session agent-7       everything this session did, as one diff
  lookfirst diff --since 2h --json`,
  run: (cli, { change, ...flags }) => diff(cli, change, flags),
});

async function diff(cli: Cli, change: string | undefined, flags: DiffFlags): Promise<ExitCode> {
  checkPeriod(flags);
  return withRecords(cli, flags, async (records) => {
    const changes = await chosen(cli, records, { change, flags });
    if (changes.length === 0) return nothing(cli, change, flags);
    const effects = netEffects(changes).filter(isWanted(cli, flags));
    if (effects.length === 0 && change !== undefined && flags.path !== undefined)
      return tellMissing(cli, `the change ${change} did not touch ${flags.path}`, { json: flags.json });
    const options = { maxLines: flags.maxLines, secrets: policyOf(cli, flags).secrets };
    const { shown, gits } = listed(effects, flags);
    for (const effect of shown)
      await print(cli, { effect, diff: await pathDiff(records.images, effect, options), flags });
    if (gits.length > 0) cli.terminal.tell(`and ${GITS_OWN_FILES}, which --path .git shows`);
    return EXIT.done;
  });
}

async function chosen(
  cli: Cli,
  records: Records,
  { change, flags }: { readonly change: string | undefined; readonly flags: DiffFlags },
): Promise<readonly Entry[]> {
  if (change !== undefined) {
    const entry = await namedChange(records, change);
    return entry === undefined ? [] : [entry];
  }
  const many = flags.session !== undefined || flags.since !== undefined || flags.until !== undefined;
  const session = await namedSession(records, flags.session);
  const request = { ...entryRequest(cli, flags), session, kinds: ['change'], limit: many ? 0 : 1 } as const;
  const entries: Entry[] = [];
  for await (const entry of records.entries(new EntryChoice(request))) entries.push(entry);
  return entries;
}

/** The effects to print, and the number of git's own files that are left out because nobody asked for them. */
function listed(
  effects: readonly NetEffect[],
  { json, path }: DiffFlags,
): { readonly shown: readonly NetEffect[]; readonly gits: readonly NetEffect[] } {
  if (json === true) return { shown: effects, gits: [] };
  const shown = withoutImplied(effects);
  return path === undefined ? apartFromGit(shown, ({ relative }) => relative) : { shown, gits: [] };
}

/** Returns a test for files under `--path`. A selected change may also have touched other files. */
function isWanted(cli: Cli, { path }: DiffFlags): (effect: NetEffect) => boolean {
  if (path === undefined) return () => true;
  const { key } = canonicalPath(cli.cwd, path);
  return (effect) => isInScope(effect.key, key);
}

async function nothing(cli: Cli, change: string | undefined, flags: DiffFlags): Promise<ExitCode> {
  if (change === undefined) {
    if (flags.json !== true) cli.terminal.tell('no change is recorded here (--all searches every workspace)');
    return EXIT.done;
  }
  return tellMissing(cli, `there is no change ${change}`, { json: flags.json, hint: LISTS_CHANGES });
}

async function print(
  cli: Cli,
  { effect, diff, flags }: { readonly effect: NetEffect; readonly diff: PathDiff; readonly flags: DiffFlags },
): Promise<void> {
  const text = pathDiffText(effect, diff);
  const { root, relative: path, before, after, changes } = effect;
  if (flags.json !== true)
    await cli.terminal.print(paintDiff(cli.terminal.shown(text), cli.terminal.colours));
  else
    await cli.terminal.printJson({
      path,
      root,
      changes,
      before,
      after,
      diff: text,
      truncated: diff.truncated,
    });
}
