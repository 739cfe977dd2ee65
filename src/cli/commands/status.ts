import { text } from '../../config/flags.ts';
import type { Entry } from '../../model/entry.ts';
import type { FileStatus, Freshness } from '../../model/results.ts';
import { type StateSize, stateSize } from '../../records/clean-up.ts';
import { changeOfPath, nothingHere, whatOf } from '../../records/entry-words.ts';
import { lostEntries, lostText } from '../../records/lost-entries.ts';
import { Records } from '../../records/records.ts';
import { canonicalPath, isInScope, Scope } from '../../records/scope.ts';
import type { PlacedSession } from '../../records/session-views.ts';
import {
  clientOf,
  type Destructions,
  destructions,
  type FileView,
  filesSeenBy,
  fileView,
  newestChange,
  type PreventedHarm,
  preventedHarm,
  type StatusPlaces,
  sessionFreshness,
  surroundings,
  type UnjudgedCalls,
  unjudgedCalls,
} from '../../records/status-views.ts';
import { byteSize, countOf, lineWords } from '../../report/amounts.ts';
import { harmless, jsonText, pathText, phrase } from '../../report/bounded.ts';
import type { Colours, Column } from '../../report/human.ts';
import { openForReading, placesOf, recordsPlaceOf, sessionVariable } from '../../session/configured.ts';
import type { Sessions } from '../../session/sessions.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { entryPath, sessionTable, writerWords } from '../entry-row.ts';
import { type Given, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { opening } from '../progress.ts';
import { tellRefusal } from '../refusal-text.ts';
import type { Times } from '../words.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  session: text('ID', 'the files this session has seen (LOOKFIRST_SESSION)'),
} as const;

type StatusFlags = Given<typeof FLAGS>;

interface Question {
  readonly path: string;
  readonly records: readonly PlacedSession[];
  /** Report only this session. */
  readonly session: string | undefined;
  readonly json: boolean;
}

const STATES: Readonly<Record<Freshness, string>> = {
  unseen: 'not seen',
  fresh: 'up to date',
  stale: 'changed since',
  deleted: 'deleted since',
  missing: 'not there',
  unverifiable: 'cannot be checked',
};

/** For each way in which a session may have seen a file: the words that users read. */
const HOW: Readonly<Record<string, string>> = {
  cure: 'shown diff',
  history: 'transcript',
  witness: 'reported',
};

/**
 * `lookfirst status`: shows which files sessions have seen, and whether the files have changed
 * since.
 */
export const STATUS: CliCommand = defineCommand({
  about:
    'Shows what sessions have seen of the files here, whether these changed since, and who changed what last.',
  args: { path: text('PATH', 'one file; default: an overview') },
  flags: FLAGS,
  notes: `
Examples:
  lookfirst status                       sessions and the last change here
  lookfirst status src/a.ts              who has seen this file, and is it still as they saw it?
  lookfirst status --session agent-7     what this session has seen`,
  run: (cli, { path, ...flags }) => status(cli, path, flags),
});

async function status(cli: Cli, path: string | undefined, flags: StatusFlags): Promise<ExitCode> {
  const { home } = placesOf(cli, flags);
  for (const lost of lostEntries({ home, roots: [cli.cwd], userHome: cli.homeFolder }))
    cli.terminal.tell(harmless(`warning: ${lostText(lost)}`));
  const session = flags.session ?? sessionVariable(cli);
  const scope = new Scope({ cwd: cli.cwd, root: flags.root, all: flags.all, family: true });
  const { sessions: records, roots } = await lookAround(cli, flags, (records) =>
    surroundings(records, scope, path === undefined ? 'placed' : 'bare'),
  );
  if (records.length === 0 && roots.length === 0) {
    if (flags.json !== true) cli.terminal.tell(nothingHere(placesOf(cli, flags)));
    return EXIT.done;
  }
  const existing = roots.filter((root) => canonicalPath(cli.cwd, root).kind === 'folder');
  const { folders = [] } = new Scope({ cwd: cli.cwd, root: flags.root });
  const sessions = await openForReading(cli, flags, {
    roots:
      existing.length === 0 ? [cli.cwd] : [...existing, ...foldersAround(cli, path, { existing, folders })],
    folders,
  });
  const json = flags.json === true;
  try {
    if (path !== undefined) return await fileReport(cli, sessions, { path, records, session, json });
    if (session) return await sessionReport(cli, sessions, { session, json });
    return await overview(cli, sessions, { records, scope, home, json });
  } finally {
    await sessions.close();
  }
}

/**
 * The folders in `folders` that contain the file at `path`; empty if a root in `existing` already
 * contains it. The command opens them as roots too: a session may have read the file at a time when
 * the session's root was an outer folder.
 */
function foldersAround(
  cli: Cli,
  path: string | undefined,
  { existing, folders }: { readonly existing: readonly string[]; readonly folders: readonly string[] },
): readonly string[] {
  if (path === undefined) return [];
  const { absolute } = canonicalPath(cli.cwd, path);
  const contains = (folder: string) => isInScope(absolute, folder);
  return existing.some(contains) ? [] : folders.filter(contains);
}

async function lookAround(
  cli: Cli,
  flags: StatusFlags,
  look: (records: Records) => Promise<StatusPlaces>,
): Promise<StatusPlaces> {
  const records = await opening(cli, Records.open(recordsPlaceOf(cli, flags)));
  try {
    return await look(records);
  } finally {
    await records.close();
  }
}

/** Reports who has seen a file, whether it is unchanged since, and who changed it last. */
async function fileReport(cli: Cli, open: Sessions, question: Question): Promise<ExitCode> {
  const { path, records: sessions, session, json } = question;
  const outcome = await fileView(open, { cwd: cli.cwd, path, sessions, session });
  if (!outcome.ok) {
    await tellRefusal(cli, outcome.refusal, { json });
    return EXIT.refused;
  }
  const { view } = outcome;
  await (json ? printJson(cli, view) : printText(cli, path, view));
  return EXIT.done;
}

async function printJson(
  cli: Cli,
  { root, relative, exists, lastChange: last, lastClient: client, seenBy }: FileView,
): Promise<void> {
  const lastChange = last && lastChangeJson(last, client);
  await cli.terminal.printJson({ type: 'file', path: relative, root, exists, lastChange });
  for (const { session, client: program, file } of seenBy) {
    const { lastChange: _, ...rest } = file;
    await cli.terminal.printJson({ type: 'sighting', session, client: program, ...rest, path: relative });
  }
}

async function printText(
  cli: Cli,
  path: string,
  { exists, lastChange: last, lastClient, seenBy }: FileView,
): Promise<void> {
  const by =
    last === undefined
      ? 'no recorded change'
      : `last change ${last.change}: ${whatOf(last)} by ${writerWords(last, lastClient)}, ${cli.times.age(last.atMs)}`;
  await cli.terminal.print(`${pathText(path)}${exists ? '' : ' (not there now)'}: ${by}`);
  if (seenBy.length === 0) return cli.terminal.print('no session has seen it');
  const withClient = seenBy.some(({ client }) => client !== undefined);
  const rows = seenBy.map(({ session, client = '', file }) => [
    ...(withClient ? [session, client] : [session]),
    ...seenCells(file, cli.times),
  ]);
  const titles = withClient ? ['SESSION', 'CLIENT'] : ['SESSION'];
  const who = titles.map((title): Column => ({ title, cut: 'end' }));
  const columns = [...who, ...seenColumns(cli.terminal.colours)];
  await cli.terminal.printTable(columns, rows);
}

/** Reports the files that a session has seen, most recent first, and whether they are unchanged since. */
async function sessionReport(
  cli: Cli,
  open: Sessions,
  { session, json }: { readonly session: string; readonly json: boolean },
): Promise<ExitCode> {
  const files = await filesSeenBy(open, session);
  if (json) {
    for (const file of files) await cli.terminal.printJson({ type: 'sighting', session, ...file });
    return EXIT.done;
  }
  if (files.length === 0) {
    cli.terminal.tell(`session ${phrase(session)} has seen no file here`);
    return EXIT.done;
  }
  const rows = files.map((file) => [pathText(file.path), ...seenCells(file, cli.times)]);
  await cli.terminal.printTable(
    [{ title: 'PATH', cut: 'front' }, ...seenColumns(cli.terminal.colours)],
    rows,
  );
  return EXIT.done;
}

/** The columns about what a session has seen of a file. Each table puts its own columns first. */
function seenColumns(colours: Colours): readonly Column[] {
  return [
    { title: 'STATE', paint: (cell) => (/^(up|not)/.test(cell) ? cell : colours.yellow(cell)) },
    { title: 'SEEN', cut: 'end' },
    { title: 'WHEN' },
    { title: 'HOW' },
  ];
}

function seenCells(file: FileStatus, times: Times): string[] {
  const { freshness, seenAtMs, how } = file;
  const when = seenAtMs === undefined ? '' : times.age(seenAtMs);
  return [STATES[freshness], seenWords(file), when, HOW[how ?? ''] ?? how ?? ''];
}

function seenWords({ seen, but, ranges, totalLines }: FileStatus): string {
  if (seen !== 'some') return seen;
  if (but === 'described') return but;
  const of = totalLines === undefined ? '' : ` of ${totalLines}`;
  const lines = ranges === undefined || ranges.length === 0 ? 'some' : `${lineWords(ranges)}${of}`;
  return but === undefined ? lines : `${lines}, ${but}`;
}

interface OverviewRequest {
  readonly records: readonly PlacedSession[];
  readonly scope: Scope;
  readonly home: string;
  readonly json: boolean;
}

/**
 * Maximum number of sessions in the table. More would take long, because every file that a listed
 * session has seen is checked.
 */
const MAX_SESSIONS = 20;

const COLUMNS: readonly Column[] = [
  { title: 'LAST USED' },
  { title: 'SEEN', align: 'right' },
  { title: 'OUT OF DATE', align: 'right' },
];

/** Prints the size of the state, the last change and the sessions in scope. */
export async function overview(cli: Cli, open: Sessions, question: OverviewRequest): Promise<ExitCode> {
  const { records, scope, home, json } = question;
  const shown = records.slice(0, MAX_SESSIONS);
  // Send the queries together, so that a store on another machine needs only one round trip.
  const [last, size, unjudged, destroyed, week, ...fresh] = await Promise.all([
    newestChange(open, scope),
    stateSize(open.world),
    unjudgedCalls(open.world, { nowMs: cli.nowMs, scope }),
    destructions(open.world, { nowMs: cli.nowMs, scope }),
    preventedHarm(open.world, { nowMs: cli.nowMs, scope }),
    ...shown.map((record) => sessionFreshness(open, record)),
  ]);
  const author = records.find(({ id }) => id === last?.session);
  const client = author === undefined ? await clientOf(open, last) : author.client;
  const state = { home, size, last, client, unjudged, destroyed, week };
  await cli.terminal.print(json ? stateJson(open, state) : stateText(cli, open, state));
  const table = sessionTable(shown, cli.cwd);
  const rows: string[][] = [];
  for (const [index, record] of shown.entries()) {
    const { seen = 0, outOfDate = 0, lastMs = record.lastMs } = fresh[index] ?? {};
    const { id, root, client, turn, machine, workspace } = record;
    const who = { id, client, turn, root, machine, workspace };
    if (json) await cli.terminal.printJson({ type: 'session', ...who, lastMs, seen, outOfDate });
    else rows.push([...table.cells(record), cli.times.age(lastMs), `${seen}`, `${outOfDate}`]);
  }
  if (rows.length > 0) await cli.terminal.print('');
  if (rows.length > 0) await cli.terminal.printTable([...table.columns, ...COLUMNS], rows);
  const more = records.length - MAX_SESSIONS;
  if (!json && more > 0) await cli.terminal.print(`and ${more} more; lookfirst sessions lists them`);
  return EXIT.done;
}

interface State {
  readonly home: string;
  readonly size: StateSize;
  readonly last: Entry | undefined;
  /** The program that made the last change. */
  readonly client: string | undefined;
  readonly unjudged: UnjudgedCalls;
  readonly destroyed: Destructions;
  readonly week: PreventedHarm;
}

function lastChangeJson(
  { change, session, turn, atMs, action }: Pick<Entry, 'change' | 'session' | 'turn' | 'atMs' | 'action'>,
  client: string | undefined,
): object {
  return { change, session, client, turn, atMs, action };
}

function stateJson(
  { world }: Sessions,
  { home, size, last, client, unjudged, destroyed, week }: State,
): string {
  const lastChange = last && { ...lastChangeJson(last, client), root: last.root, path: last.path };
  const { roots, guarantee } = world.workspace;
  return jsonText({
    type: 'state',
    week,
    home,
    store: world.store.url,
    roots,
    guarantee,
    ...size,
    lastChange,
    unjudged: unjudged.count,
    destroyed: destroyed.count,
  });
}

function stateText(cli: Cli, { world }: Sessions, state: State): string {
  const { home, size, last, client, unjudged, destroyed, week } = state;
  const { entries, storeBytes, images } = size;
  const change =
    last === undefined
      ? 'none'
      : `${changeOfPath(last, pathText(entryPath(last, cli.cwd)))} by ${writerWords(last, client)}, ${cli.times.age(last.atMs)} (${last.change})`;
  return [
    weekText(week),
    `workspace    ${world.workspace.roots.map(pathText).join(', ')}`,
    `last change  ${change}`,
    `state        ${pathText(home)}: ${countOf(entries, 'entry')} (${byteSize(storeBytes)}), ${countOf(images.count, 'kept image')} (${byteSize(images.bytes)})`,
    ...destroyedText(cli, destroyed),
    ...unjudgedText(cli, unjudged),
  ].join('\n');
}

function destroyedText({ times }: Cli, { count, newest }: Destructions): readonly string[] {
  if (newest?.change === undefined) return [];
  const commands = `${countOf(count, 'command')} removed what nothing else holds`;
  return [
    `destroyed    ${commands}, the last ${times.age(newest.atMs)}; kept: lookfirst undo ${newest.change}`,
  ];
}

function weekText({ overwritesStopped, editsMerged, commandsUndoable }: PreventedHarm): string {
  const counts = [
    `${countOf(overwritesStopped, 'overwrite')} stopped`,
    `${countOf(editsMerged, 'stale edit')} merged`,
    `${countOf(commandsUndoable, 'command')} undoable`,
  ];
  return `this week: ${counts.join(', ')}`;
}

function unjudgedText({ times }: Cli, { count: calls, newest }: UnjudgedCalls): readonly string[] {
  if (newest === undefined) return [];
  const when = times.age(newest.atMs);
  return [
    `unjudged     ${countOf(calls, 'call')} ran without a check by Lookfirst, the last ${when}; see lookfirst doctor`,
  ];
}
