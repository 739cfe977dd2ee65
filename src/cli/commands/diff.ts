import { text, type Values } from '../../config/flags.ts';
import { type ChangeEntry, isChange } from '../../model/entry.ts';
import { isWithin } from '../../model/path.ts';
import { EntryChoice, type EntryRequest } from '../../records/entry-choice.ts';
import { type NetEffect, netEffects, withoutImplied } from '../../records/net-effects.ts';
import { pathDiff, pathDiffText } from '../../records/path-diffs.ts';
import type { Records } from '../../records/records.ts';
import { canonicalPath } from '../../records/scope.ts';
import { apartFromGit, GITS_OWN_FILES } from '../../report/git-files.ts';
import { policyOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { answer } from '../columns.ts';
import { entryRequest, FILTER_FLAGS, maxLines, STATE_FLAGS } from '../flags.ts';
import { LISTS_CHANGES, namedChange, namedSession, tellMissing } from '../refusal-text.ts';
import { paintDiff } from '../table.ts';
import { withRecords } from '../with-records.ts';

const FLAGS = { ...STATE_FLAGS, ...FILTER_FLAGS, maxLines: maxLines(1000) } as const;

type DiffFlags = Values<typeof FLAGS>;

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
  const request = entryRequest(cli, flags);
  return withRecords(cli, async (records) => {
    const changes = change === undefined ? await chosen(records, request) : await named(records, change);
    if (changes.length === 0) return nothing(cli, change);
    const effects = netEffects(changes).filter(isWanted(cli, flags));
    if (effects.length === 0 && change !== undefined && flags.path !== undefined)
      return tellMissing(cli, `the change ${change} did not touch ${flags.path}`);
    const options = { maxLines: flags.maxLines, secrets: policyOf(cli, cli.flags).secrets };
    const { shown, gits } = listed(cli, effects, flags);
    for (const effect of shown) await print(cli, effect, await pathDiff(records.images, effect, options));
    if (gits.length > 0) cli.terminal.tell(`and ${GITS_OWN_FILES}, which --path .git shows`);
    return EXIT.done;
  });
}

async function named(records: Records, change: string): Promise<readonly ChangeEntry[]> {
  const entry = await namedChange(records, change);
  return entry === undefined ? [] : [entry];
}

/** All changes of a session or a time, otherwise the newest one. */
async function chosen(records: Records, request: EntryRequest): Promise<readonly ChangeEntry[]> {
  const many = [request.session, request.sinceMs, request.untilMs].some((each) => each !== undefined);
  const session = await namedSession(records, request.session);
  const choice = new EntryChoice({ ...request, session, kinds: ['change'], limit: many ? 0 : 1 });
  const entries: ChangeEntry[] = [];
  for await (const entry of records.entries(choice)) if (isChange(entry)) entries.push(entry);
  return entries;
}

/** The effects to print, and the number of git's own files that are left out because nobody asked for them. */
function listed(
  cli: Cli,
  effects: readonly NetEffect[],
  { path }: DiffFlags,
): { readonly shown: readonly NetEffect[]; readonly gits: readonly NetEffect[] } {
  if (cli.flags.json === true) return { shown: effects, gits: [] };
  const shown = withoutImplied(effects);
  return path === undefined ? apartFromGit(shown, ({ relative }) => relative) : { shown, gits: [] };
}

/** Returns a test for files under `--path`. A selected change may also have touched other files. */
function isWanted(cli: Cli, { path }: DiffFlags): (effect: NetEffect) => boolean {
  if (path === undefined) return () => true;
  const { key } = canonicalPath(cli.cwd, path);
  return (effect) => isWithin(effect.key, key);
}

async function nothing(cli: Cli, change: string | undefined): Promise<ExitCode> {
  if (change !== undefined) return tellMissing(cli, `there is no change ${change}`, LISTS_CHANGES);
  if (cli.flags.json !== true)
    cli.terminal.tell('no change is recorded here (--all searches every workspace)');
  return EXIT.done;
}

function print(cli: Cli, effect: NetEffect, compared: Parameters<typeof pathDiffText>[1]): Promise<ExitCode> {
  const diff = pathDiffText(effect, compared);
  const { truncated } = compared;
  const { root, relative: path, before, after, changes } = effect;
  const { terminal } = cli;
  const text = paintDiff(terminal.shown(diff), terminal.colours);
  return answer(cli, { path, root, changes, before, after, diff, truncated }, text);
}
