import { toggle, UsageError, type Values } from '../../config/flags.ts';
import type { Entry } from '../../model/entry.ts';
import { EntryChoice } from '../../records/entry-choice.ts';
import { detailOf } from '../../records/entry-words.ts';
import { linesOfChange } from '../../records/path-diffs.ts';
import { entryData } from '../../records/public-entry.ts';
import type { Records } from '../../records/records.ts';
import { phrase } from '../../report/bounded.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { answer, entryColumns } from '../columns.ts';
import { entryRequest, FILTER_FLAGS, KIND, limit, STATE_FLAGS } from '../flags.ts';
import { namedSession } from '../refusal-text.ts';
import { nothingRecorded, withRecords } from '../with-records.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...FILTER_FLAGS,
  kind: KIND,
  limit: limit(50),
  verify: toggle('check that no journal entry was removed or altered; exit with 1 if one was'),
  byTurn: toggle('group entries by turn'),
  follow: toggle('keep printing new entries until interrupted; the newest last'),
} as const;

type LogFlags = Values<typeof FLAGS>;

/** `lookfirst log`: shows reads, changes and refusals, newest first. */
export const LOG: CliCommand = defineCommand({
  about: 'Shows what was read, changed and refused in the workspaces around this folder, newest first.',
  flags: FLAGS,
  notes: `
It shows workspaces that are this folder, contain it or are inside it; --all shows every workspace.
Some kinds need explaining: look is a list or search, bypass a change the user permitted without a
read or approved, grant a permission from lookfirst allow, and unjudged a call that ran unchecked.
Processes that continue a session are shown only with --kind or --json.

Examples:
  lookfirst log                              the last 50 entries here
  lookfirst log --kind change,refusal --since 2h
  lookfirst log --by-turn --session agent-7
  lookfirst log --json --limit 0 | jq .      all of it, for programs
  lookfirst log --verify                     check that nobody has altered the journal`,
  run: async (cli, flags) => {
    if (flags.verify === true && flags.follow === true)
      throw new UsageError('--verify cannot be combined with --follow');
    return log(cli, flags);
  },
});

function log(cli: Cli, flags: LogFlags): Promise<ExitCode> {
  const isFollowing = flags.follow === true;
  const chosen = entryRequest(cli, flags);
  const work = async (records: Records): Promise<ExitCode> => {
    if (flags.verify === true) return verify(cli, records);
    const session = await namedSession(records, flags.session);
    const isComplete = cli.flags.json === true || chosen.kinds !== undefined;
    const continued = isComplete ? undefined : 'hidden';
    const request = { ...chosen, session, family: true, continued } as const;
    const now = await records.cursor();
    const entries = records.entries(new EntryChoice(request), now);
    const print = cli.flags.json === true ? printJson : printTable;
    // New entries are printed below, so print the existing ones oldest first.
    await print(cli, isFollowing ? oldestFirst(entries) : entries, { records, flags });
    if (!isFollowing) return EXIT.done;
    // Follow new entries without the limit: `--limit` counts only the entries that existed at the
    // start.
    const choice = new EntryChoice({ ...request, limit: 0 });
    for await (const entry of records.follow(choice, now)) await printNew(cli, records, entry);
    return EXIT.done;
  };
  return withRecords(cli, work, isFollowing ? 'make' : 'empty');
}

async function* oldestFirst(newestFirst: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  const entries: Entry[] = [];
  for await (const entry of newestFirst) entries.push(entry);
  yield* entries.reverse();
}

async function printJson({ terminal }: Cli, entries: AsyncIterable<Entry>): Promise<void> {
  for await (const entry of entries) await terminal.printJson(entryData(entry));
}

/** The ids of further changes are shown in full: each shorter id takes a query. */
const MAX_SHORTENED = 500;

const NO_MATCH = 'no entry here matches (--all searches every workspace)';

function isFiltered({ path, session, since, until, kind }: LogFlags): boolean {
  return [path, session, since, until, kind].some((filter) => filter !== undefined);
}

async function printTable(
  cli: Cli,
  entries: AsyncIterable<Entry>,
  { records, flags }: { readonly records: Records; readonly flags: LogFlags },
): Promise<void> {
  const { terminal } = cli;
  const shown: Entry[] = [];
  for await (const entry of entries) shown.push(entry);
  if (shown.length === 0) return terminal.tell(isFiltered(flags) ? NO_MATCH : nothingRecorded(cli));
  const clients = await records.clientsOf(shown.map(({ session }) => session));
  const ids = await records.shortIds(shown.slice(0, MAX_SHORTENED).flatMap(({ change }) => change ?? []));
  const sessions = await records.shortSessions(shown.map(({ session }) => session));
  const lines = new Map<Entry, string>();
  for (const entry of shown) {
    const count = entry.kind === 'change' ? await linesOfChange(records.images, entry) : undefined;
    if (count !== undefined) lines.set(entry, `+${count.added} -${count.removed}`);
  }
  await terminal.printTable(entryColumns(cli, { clients, ids, sessions, lines }), shown, {
    headings: flags.byTurn === true ? turnHeadings(shown) : [],
    details: shown.map(detailOf),
  });
}

/**
 * For each entry, the heading to print before it; undefined if the previous entry is of the same
 * turn. The heading contains the turn's label or prompt, if `entries` contains the beginning of the
 * turn.
 */
function turnHeadings(entries: readonly Entry[]): (string | undefined)[] {
  const idOf = ({ session, turn }: Entry): string => (turn === undefined ? '' : `${session}\n${turn}`);
  const titles = new Map(
    entries.flatMap((entry) => {
      const title = entry.kind === 'turn' ? (entry.label ?? entry.prompt) : undefined;
      return title === undefined ? [] : [[idOf(entry), title] as const];
    }),
  );
  return entries.map((entry, index) => {
    const before = entries[index - 1];
    const id = idOf(entry);
    if (id === (before === undefined ? '' : idOf(before))) return undefined;
    const title = titles.get(id);
    if (id === '') return 'outside of turns';
    return `turn ${entry.turn} of ${entry.session}${title === undefined ? '' : `: ${title}`}`;
  });
}

async function printNew(cli: Cli, records: Records, entry: Entry): Promise<void> {
  if (cli.flags.json === true) return cli.terminal.printJson(entryData(entry));
  const ids = await records.shortIds(entry.change === undefined ? [] : [entry.change]);
  const sessions = await records.shortSessions([entry.session]);
  const cells = entryColumns(cli, { ids, sessions, nowMs: Date.now() }).map(({ cell }) => cell(entry));
  return cli.terminal.print([...cells, detailOf(entry) ?? ''].map(phrase).join('  ').trimEnd());
}

async function verify(cli: Cli, records: Records): Promise<ExitCode> {
  const report = await records.verify({
    onProgress: (done, total) => cli.terminal.showProgress('verifying', done, total),
  });
  await answer(cli, report, verifiedText(report));
  return report.ok ? EXIT.done : EXIT.fault;
}

function verifiedText(report: Awaited<ReturnType<Records['verify']>>): string {
  if (report.ok) return `the journal is intact: ${report.entries} entries in an unbroken chain`;
  const { chain, problem, seq } = report;
  const where = chain === undefined ? '' : ` of the chain ${chain}`;
  const what = problem === 'removed' ? 'is missing' : 'is not what was written';
  return `the journal was tampered with: entry ${seq}${where} ${what} (${problem})`;
}
