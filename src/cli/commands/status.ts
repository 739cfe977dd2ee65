import { text } from '../../config/flags.ts';
import type { Entry } from '../../model/entry.ts';
import type { FileStatus, Freshness } from '../../model/results.ts';
import { type StateSize, stateSize } from '../../records/clean-up.ts';
import { changeOfPath, whatOf } from '../../records/entry-words.ts';
import { lostEntries, lostText } from '../../records/lost-entries.ts';
import { canonicalPath, isInScope, Scope } from '../../records/scope.ts';
import {
  type CountedEntries,
  clientOf,
  destructions,
  filesSeenBy,
  fileView,
  freshnessOf,
  newestChange,
  type PlacedSession,
  type PreventedHarm,
  preventedHarm,
  surroundings,
  unjudgedCalls,
} from '../../records/status-views.ts';
import { byteSize, countOf, lineWords } from '../../report/amounts.ts';
import { harmless, jsonText, pathText, phrase } from '../../report/bounded.ts';
import { openForReading, placesOf, type StateFlags, sessionVariable } from '../../session/configured.ts';
import type { Sessions } from '../../session/sessions.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import {
  entryPath,
  optionalColumn,
  PATH_COLUMN,
  printList,
  SESSION_COLUMN,
  shownPath,
  writerWords,
} from '../columns.ts';
import { type Given, limit, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { namedSession, tellRefusal } from '../refusal-text.ts';
import type { TableColumn } from '../terminal.ts';
import { nothingRecorded, withRecords } from '../with-records.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  session: text('ID', 'the files this session has seen (LOOKFIRST_SESSION)'),
  limit: limit(20),
} as const;

type StatusFlags = Given<typeof FLAGS>;

/** The flags with which sessions are listed. */
interface LookFlags extends StateFlags {
  readonly root?: readonly string[];
  readonly all?: boolean;
  readonly session?: string;
  readonly limit: number;
  readonly json?: boolean;
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
    'Shows what sessions have seen of the files here, whether those have changed since, and who changed what last.',
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
  // Read first, so that a variable that holds no session id is a fault even where nothing is recorded.
  const ofVariable = flags.session === undefined ? sessionVariable(cli) : undefined;
  return lookAround(cli, { path, flags }, async (view) => {
    const json = flags.json === true;
    const session = view.named ?? ofVariable;
    if (path !== undefined) return fileReport(cli, view, { path, session, json });
    if (session) return sessionReport(cli, view, { session, json });
    await cli.terminal.print(await stateReport(cli, view, { home, json }));
    if (!json) await cli.terminal.print('');
    return listSessions(cli, view, flags);
  });
}

/** The sessions in a scope, and the open workspace in which they work. */
interface View {
  /** The session that the user named. */
  readonly named: string | undefined;
  readonly open: Sessions;
  readonly sessions: readonly PlacedSession[];
  readonly scope: Scope;
}

/** Opens the workspaces around the current folder for `look`, and closes them. */
export async function lookAround(
  cli: Cli,
  { path, flags }: { readonly path?: string | undefined; readonly flags: LookFlags },
  look: (view: View) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { root, all, limit } = flags;
  const scope = new Scope({ cwd: cli.cwd, root, all, family: true });
  const listed = path === undefined ? limit : undefined;
  const { sessions, roots, named } = await withRecords(cli, flags, async (records) => ({
    ...(await surroundings(records, scope, listed)),
    named: await namedSession(records, flags.session),
  }));
  if (sessions.length === 0 && roots.length === 0) {
    if (flags.json !== true) cli.terminal.tell(nothingRecorded(cli, flags));
    return EXIT.done;
  }
  const existing = roots.filter((each) => canonicalPath(cli.cwd, each).kind === 'folder');
  const { folders = [] } = new Scope({ cwd: cli.cwd, root });
  const open = await openForReading(cli, flags, {
    roots:
      existing.length === 0 ? [cli.cwd] : [...existing, ...foldersAround(cli, path, { existing, folders })],
    folders,
  });
  try {
    return await look({ named, open, sessions, scope });
  } finally {
    await open.close();
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

/** Reports who has seen a file, whether it is unchanged since, and who changed it last. */
async function fileReport(
  cli: Cli,
  { open, sessions }: View,
  {
    path,
    session,
    json,
  }: { readonly path: string; readonly session: string | undefined; readonly json: boolean },
): Promise<ExitCode> {
  const outcome = await fileView(open, { cwd: cli.cwd, path, sessions, session });
  if (!outcome.ok) return tellRefusal(cli, outcome.refusal, { json });
  const { root, relative, exists, lastChange: last, lastClient, seenBy } = outcome.view;
  const by =
    last === undefined
      ? 'no recorded change'
      : `last change ${last.change}: ${whatOf(last)} by ${writerWords(last, lastClient)}, ${cli.age(last.atMs)}`;
  const lastChange = last && lastChangeJson(last, lastClient);
  await cli.terminal.print(
    json
      ? jsonText({ type: 'file', path: relative, root, exists, lastChange })
      : `${pathText(path)}${exists ? '' : ' (not there now)'}: ${by}`,
  );
  return printList(
    cli,
    { json },
    {
      rows: seenBy.map(({ session: id, client, file }) => ({ ...file, path: relative, session: id, client })),
      columns: [
        SESSION_COLUMN,
        { ...optionalColumn('CLIENT'), cell: ({ client = '' }) => client },
        ...seenColumns(cli),
      ],
      json: ({ lastChange: _, ...row }) => ({ type: 'sighting', ...row }),
      none: 'no session has seen it',
    },
  );
}

/** Reports the files that a session has seen, most recent first, and whether they are unchanged since. */
async function sessionReport(
  cli: Cli,
  { open }: View,
  { session, json }: { readonly session: string; readonly json: boolean },
): Promise<ExitCode> {
  return printList(
    cli,
    { json },
    {
      rows: await filesSeenBy(open, session),
      columns: [{ ...PATH_COLUMN, cell: ({ path }) => pathText(path) }, ...seenColumns(cli)],
      json: (file) => ({ type: 'sighting', session, ...file }),
      none: `session ${phrase(session)} has seen no file here`,
    },
  );
}

/** The columns about what a session has seen of a file. Each table puts its own columns first. */
function seenColumns({ age, terminal: { colours } }: Cli): readonly TableColumn<FileStatus>[] {
  return [
    {
      title: 'STATE',
      paint: (cell) => (/^(up|not)/.test(cell) ? cell : colours.yellow(cell)),
      cell: ({ freshness }) => STATES[freshness],
    },
    { title: 'SEEN', cut: 'end', cell: seenWords },
    { title: 'WHEN', cell: ({ seenAtMs }) => (seenAtMs === undefined ? '' : age(seenAtMs)) },
    { title: 'HOW', cell: ({ how = '' }) => HOW[how] ?? how },
  ];
}

function seenWords({ seen, but, ranges, totalLines }: FileStatus): string {
  if (seen !== 'some') return seen;
  if (but === 'described') return but;
  const of = totalLines === undefined ? '' : ` of ${totalLines}`;
  const lines = ranges === undefined || ranges.length === 0 ? 'some' : `${lineWords(ranges)}${of}`;
  return but === undefined ? lines : `${lines}, ${but}`;
}

/** Lists the sessions in scope, most recently used first. */
export async function listSessions(
  cli: Cli,
  { named, open, sessions }: View,
  flags: LookFlags,
): Promise<ExitCode> {
  const { limit, json } = flags;
  const wanted = sessions.filter(({ id }) => id === (named ?? id));
  const shown = limit === 0 ? wanted : wanted.slice(0, limit);
  const counts = await freshnessOf(open, shown);
  const rows = shown.map((each, index) => ({ ...each, seen: 0, outOfDate: 0, ...counts[index] }));
  const code = await printList(cli, flags, {
    rows,
    columns: [
      { ...SESSION_COLUMN, cell: ({ id }) => id },
      { ...optionalColumn('CLIENT'), cell: ({ client = '' }) => client },
      { ...optionalColumn('TURN'), cell: ({ turn = '' }) => turn },
      { title: 'WORKSPACE', cut: 'front', cell: ({ root, workspace }) => workspace ?? shownPath(cli, root) },
      { ...optionalColumn('MACHINE'), cell: ({ machine = '' }) => machine },
      { title: 'LAST USED', cell: ({ lastMs }) => cli.age(lastMs) },
      { title: 'SEEN', align: 'right', cell: ({ seen }) => String(seen) },
      { title: 'OUT OF DATE', align: 'right', cell: ({ outOfDate }) => String(outOfDate) },
      { title: 'STATE', cell: stateWords },
    ],
    json: (row) => ({
      type: 'session',
      ...row,
      last: new Date(row.lastMs).toISOString(),
      state: stateOf(row),
    }),
    none: NO_SESSIONS,
  });
  const more = wanted.length - shown.length;
  if (json !== true && more > 0) await cli.terminal.print(`and ${more} more; --limit 0 lists all`);
  return code;
}

const NO_SESSIONS = `no sessions here (--all shows every workspace)
Closed sessions without a name are not listed; lookfirst log shows their ids and what they did.`;

/** A session whose process was killed stays open until the user forgets it or it expires. */
function stateOf({ closedMs }: PlacedSession): 'open' | 'closed' {
  return closedMs === undefined ? 'open' : 'closed';
}

function stateWords(session: PlacedSession): string {
  return session.parent === undefined ? stateOf(session) : `${stateOf(session)}, of ${session.parent}`;
}

/** The size of the state, the last change, and what was prevented. */
async function stateReport(
  cli: Cli,
  { open, sessions, scope }: View,
  { home, json }: { readonly home: string; readonly json: boolean },
): Promise<string> {
  // Send the queries together, so that a store on another machine needs only one round trip.
  const [last, size, unjudged, destroyed, week] = await Promise.all([
    newestChange(open, scope),
    stateSize(open.world),
    unjudgedCalls(open.world, { nowMs: cli.nowMs, scope }),
    destructions(open.world, { nowMs: cli.nowMs, scope }),
    preventedHarm(open.world, { nowMs: cli.nowMs, scope }),
  ]);
  const author = sessions.find(({ id }) => id === last?.session);
  const client = author === undefined ? await clientOf(open, last) : author.client;
  const state = { home, size, last, client, unjudged, destroyed, week };
  return json ? stateJson(open, state) : stateText(cli, open, state);
}

interface State {
  readonly home: string;
  readonly size: StateSize;
  readonly last: Entry | undefined;
  /** The program that made the last change. */
  readonly client: string | undefined;
  readonly unjudged: CountedEntries;
  readonly destroyed: CountedEntries;
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
      : `${changeOfPath(last, entryPath(cli, last))} by ${writerWords(last, client)}, ${cli.age(last.atMs)} (${last.change})`;
  return [
    weekText(week),
    `workspace    ${world.workspace.roots.map(pathText).join(', ')}`,
    `last change  ${change}`,
    `state        ${pathText(home)}: ${countOf(entries, 'entry')} (${byteSize(storeBytes)}), ${countOf(images.count, 'kept image')} (${byteSize(images.bytes)})`,
    ...destroyedText(cli, destroyed),
    ...unjudgedText(cli, unjudged),
  ].join('\n');
}

function destroyedText({ age }: Cli, { count, newest }: CountedEntries): readonly string[] {
  if (newest?.change === undefined) return [];
  const commands = `${countOf(count, 'command')} removed what nothing else holds`;
  return [`destroyed    ${commands}, the last ${age(newest.atMs)}; kept: lookfirst undo ${newest.change}`];
}

function weekText({ overwritesStopped, editsMerged, commandsUndoable }: PreventedHarm): string {
  const counts = [
    `${countOf(overwritesStopped, 'overwrite')} stopped`,
    `${countOf(editsMerged, 'stale edit')} merged`,
    `${countOf(commandsUndoable, 'command')} undoable`,
  ];
  return `this week: ${counts.join(', ')}`;
}

function unjudgedText({ age }: Cli, { count: calls, newest }: CountedEntries): readonly string[] {
  if (newest === undefined) return [];
  const when = age(newest.atMs);
  return [
    `unjudged     ${countOf(calls, 'call')} ran without a check by Lookfirst, the last ${when}; see lookfirst doctor`,
  ];
}
