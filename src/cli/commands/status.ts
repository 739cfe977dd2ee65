import { choice, text, UsageError, type Values, withDefault } from '../../config/flags.ts';
import type { Entry } from '../../model/entry.ts';
import { isWithin } from '../../model/path.ts';
import type { FileStatus } from '../../model/results.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import { stateSize } from '../../records/clean-up.ts';
import { changeOfPath, whatOf } from '../../records/entry-words.ts';
import { lostEntries, lostText } from '../../records/lost-entries.ts';
import type { Records } from '../../records/records.ts';
import { canonicalPath, Scope } from '../../records/scope.ts';
import { claimViews, compactSession, forgetSession } from '../../records/session-views.ts';
import {
  clientOf,
  destructions,
  filesSeenBy,
  fileView,
  freshnessOf,
  newestChange,
  preventedHarm,
  surroundings,
  unjudgedCalls,
} from '../../records/status-views.ts';
import { countOf, lineWords } from '../../report/amounts.ts';
import { harmless, pathText, phrase } from '../../report/bounded.ts';
import { openForReading, placesOf, policyOf, sessionVariable } from '../../session/configured.ts';
import type { Sessions } from '../../session/sessions.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import {
  answer,
  CLIENT_COLUMN,
  entryPath,
  optionalColumn,
  PATH_COLUMN,
  printList,
  SESSION_COLUMN,
  shownPath,
  sizeText,
  whenColumn,
  writerWords,
} from '../columns.ts';
import { limit, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { refuseAgent } from '../operator.ts';
import { namedSession, refuseReadOnly, tellNoSession, tellRefusal } from '../refusal-text.ts';
import type { TableColumn } from '../table.ts';
import { chosenScope, nothingRecorded, withRecords } from '../with-records.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  session: text('ID', 'the files this session has seen (LOOKFIRST_SESSION)'),
  limit: limit(20),
} as const;

const STATES: Readonly<Record<FileStatus['freshness'], string>> = {
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
  run: status,
});

async function status(
  cli: Cli,
  { path, limit }: { readonly path?: string } & Values<typeof FLAGS>,
): Promise<ExitCode> {
  const { home } = placesOf(cli, cli.flags);
  for (const lost of lostEntries({ home, roots: [cli.cwd], userHome: cli.homeFolder }))
    cli.terminal.tell(harmless(`warning: ${lostText(lost)}`));
  // Read first, so that a variable that holds no session id is a fault even where nothing is recorded.
  const ofVariable = cli.flags.session === undefined ? sessionVariable(cli) : undefined;
  return lookAround(cli, { path, limit }, async (view) => {
    const session = view.named ?? ofVariable;
    if (path !== undefined) return fileReport(cli, view, { path, session });
    if (session) return sessionReport(cli, view, session);
    await stateReport(cli, view, home);
    if (cli.flags.json !== true) await cli.terminal.print('');
    return listSessions(cli, view, limit);
  });
}

/** The sessions in a scope, and the open workspace in which they work. */
interface View {
  /** The session that the user named. */
  readonly named: string | undefined;
  readonly open: Sessions;
  readonly sessions: Awaited<ReturnType<typeof surroundings>>['sessions'];
  readonly scope: Scope;
}

/** Opens the workspaces around the current folder for `look`, and closes them. */
async function lookAround(
  cli: Cli,
  { path, limit }: { readonly path?: string | undefined; readonly limit: number },
  look: (view: View) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { cwd, flags } = cli;
  const scope = chosenScope(cli, 'family');
  const listed = path === undefined ? limit : undefined;
  const { sessions, roots, named } = await withRecords(cli, async (records) => ({
    ...(await surroundings(records, scope, listed)),
    named: await namedSession(records, flags.session),
  }));
  if (sessions.length === 0 && roots.length === 0) {
    if (flags.json !== true) cli.terminal.tell(nothingRecorded(cli));
    return EXIT.done;
  }
  const existing = roots.filter((each) => canonicalPath(cwd, each).kind === 'folder');
  const { folders = [] } = new Scope({ cwd, root: flags.root });
  const open = await openForReading(cli, flags, {
    roots: existing.length === 0 ? [cwd] : [...existing, ...foldersAround(cli, path, { existing, folders })],
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
  const contains = (folder: string) => isWithin(absolute, folder);
  return existing.some(contains) ? [] : folders.filter(contains);
}

/** Reports who has seen a file, whether it is unchanged since, and who changed it last. */
async function fileReport(
  cli: Cli,
  { open, sessions }: View,
  { path, session }: { readonly path: string; readonly session: string | undefined },
): Promise<ExitCode> {
  const outcome = await fileView(open, { cwd: cli.cwd, path, sessions, session });
  if (!outcome.ok) return tellRefusal(cli, outcome.refusal);
  const { root, relative, exists, lastChange: last, lastClient, seenBy } = outcome.view;
  const by =
    last === undefined
      ? 'no recorded change'
      : `last change ${last.change}: ${whatOf(last)} by ${writerWords(last, lastClient)}, ${cli.age(last.atMs)}`;
  const lastChange = last && lastChangeJson(last, lastClient);
  await answer(
    cli,
    { type: 'file', path: relative, root, exists, lastChange },
    `${pathText(path)}${exists ? '' : ' (not there now)'}: ${by}`,
  );
  return printList(cli, {
    rows: seenBy.map(({ session: id, client, file }) => ({ ...file, path: relative, session: id, client })),
    columns: [SESSION_COLUMN, CLIENT_COLUMN, ...seenColumns(cli)],
    json: ({ lastChange: _, ...row }) => ({ type: 'sighting', ...row }),
    none: 'no session has seen it',
  });
}

/** Reports the files that a session has seen, most recent first, and whether they are unchanged since. */
async function sessionReport(cli: Cli, { open }: View, session: string): Promise<ExitCode> {
  return printList(cli, {
    rows: await filesSeenBy(open, session),
    columns: [{ ...PATH_COLUMN, cell: ({ path }) => pathText(path) }, ...seenColumns(cli)],
    json: (file) => ({ type: 'sighting', session, ...file }),
    none: `session ${phrase(session)} has seen no file here`,
  });
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
async function listSessions(cli: Cli, { named, open, sessions }: View, limit: number): Promise<ExitCode> {
  const wanted = sessions.filter(({ id }) => id === (named ?? id));
  const shown = limit === 0 ? wanted : wanted.slice(0, limit);
  const counts = await freshnessOf(open, shown);
  const rows = shown.map((each, index) => ({ ...each, seen: 0, outOfDate: 0, ...counts[index] }));
  const code = await printList(cli, {
    rows,
    columns: [
      { ...SESSION_COLUMN, cell: ({ id }) => id },
      CLIENT_COLUMN,
      TURN_COLUMN,
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
  if (cli.flags.json !== true && more > 0) await cli.terminal.print(`and ${more} more; --limit 0 lists all`);
  return code;
}

const NO_SESSIONS = `no sessions here (--all shows every workspace)
Closed sessions without a name are not listed; lookfirst log shows their ids and what they did.`;

/** A session whose process was killed stays open until the user forgets it or it expires. */
function stateOf({ closedMs }: SessionRecord): 'open' | 'closed' {
  return closedMs === undefined ? 'open' : 'closed';
}

function stateWords(session: SessionRecord): string {
  return session.parent === undefined ? stateOf(session) : `${stateOf(session)}, of ${session.parent}`;
}

/** Prints the size of the state, the last change, and what was prevented. */
async function stateReport(cli: Cli, { open, sessions, scope }: View, home: string): Promise<ExitCode> {
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
  const lastChange = last && { ...lastChangeJson(last, client), root: last.root, path: last.path };
  const { store, workspace } = open.world;
  const { roots, guarantee } = workspace;
  const counts = { unjudged: unjudged.count, destroyed: destroyed.count };
  const json = {
    type: 'state',
    week,
    home,
    store: store.url,
    roots,
    guarantee,
    ...size,
    lastChange,
    ...counts,
  };
  const change =
    last === undefined
      ? 'none'
      : `${changeOfPath(last, entryPath(cli, last))} by ${writerWords(last, client)}, ${cli.age(last.atMs)} (${last.change})`;
  const text = [
    weekText(week),
    `workspace    ${roots.map(pathText).join(', ')}`,
    `last change  ${change}`,
    `state        ${pathText(home)}: ${sizeText(size)}`,
    ...destroyedText(cli, destroyed),
    ...unjudgedText(cli, unjudged),
  ];
  return answer(cli, json, text.join('\n'));
}

function lastChangeJson(
  { change, session, turn, atMs, action }: Pick<Entry, 'change' | 'session' | 'turn' | 'atMs' | 'action'>,
  client: string | undefined,
): object {
  return { change, session, client, turn, atMs, action };
}

function destroyedText(
  { age }: Cli,
  { count, newest }: Awaited<ReturnType<typeof unjudgedCalls>>,
): readonly string[] {
  if (newest?.change === undefined) return [];
  const commands = `${countOf(count, 'command')} removed what nothing else holds`;
  return [`destroyed    ${commands}, the last ${age(newest.atMs)}; kept: lookfirst undo ${newest.change}`];
}

function weekText({
  overwritesStopped,
  editsMerged,
  commandsUndoable,
}: Awaited<ReturnType<typeof preventedHarm>>): string {
  const counts = [
    `${countOf(overwritesStopped, 'overwrite')} stopped`,
    `${countOf(editsMerged, 'stale edit')} merged`,
    `${countOf(commandsUndoable, 'command')} undoable`,
  ];
  return `this week: ${counts.join(', ')}`;
}

function unjudgedText(
  { age }: Cli,
  { count: calls, newest }: Awaited<ReturnType<typeof unjudgedCalls>>,
): readonly string[] {
  if (newest === undefined) return [];
  const when = age(newest.atMs);
  return [
    `unjudged     ${countOf(calls, 'call')} ran without a check by Lookfirst, the last ${when}; see lookfirst doctor`,
  ];
}

const TURN_COLUMN = {
  ...optionalColumn('TURN'),
  cell: ({ turn = '' }: { readonly turn?: string | undefined }) => turn,
};

const SESSIONS_FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  limit: limit(20),
} as const;

/** `lookfirst sessions`: lists sessions, forgets one, or reports that a session's context was summarised. */
export const SESSIONS: CliCommand = defineCommand({
  about:
    'Lists the sessions in the workspaces around this folder: open ones, and closed ones that have a name. Can make a session forget what it has seen, or record that its context was summarised.',
  args: {
    action: withDefault(choice('ACTION', 'what to do', ['list', 'forget', 'compacted']), 'list'),
    id: text('ID', 'the session to forget, or whose context was summarised'),
  },
  flags: SESSIONS_FLAGS,
  notes: `
An unnamed session is forgotten when it closes. lookfirst log still shows its id and what it did,
and lookfirst undo --session takes that id. A session that forgets what it has seen has to read
again; the journal keeps what it did. After a compaction the model no longer has what it read, so it
must read a file again before overwriting it.

Examples:
  lookfirst sessions
  lookfirst sessions forget agent-7
  lookfirst sessions compacted agent-7
  lookfirst sessions --all --json`,
  run: async (cli, { action, id, limit }) => {
    if (action !== 'list' && id === undefined) throw new UsageError('ID is missing');
    if (action === 'list' && id !== undefined) throw new UsageError(`unexpected argument '${id}'`);
    if (action === 'list' || id === undefined)
      return lookAround(cli, { limit }, (view) => listSessions(cli, view, limit));
    // An agent may report a compaction.
    const refuse = action === 'forget' ? () => refuseAgent(cli, 'sessions forget') : async () => undefined;
    const refused = (await refuseReadOnly(cli)) ?? (await refuse());
    return refused ?? withRecords(cli, (records) => dropViews(cli, records, { action, id }));
  },
});

async function dropViews(
  cli: Cli,
  records: Records,
  { action, id }: { readonly action: 'forget' | 'compacted'; readonly id: string },
): Promise<ExitCode> {
  const { nowMs } = cli;
  const seen =
    action === 'forget'
      ? await forgetSession(records, { id, nowMs })
      : await compactSession(records, { id, nowMs, policy: policyOf(cli, cli.flags) });
  if (seen === undefined) return tellNoSession(cli, id);
  const done = action === 'forget' ? 'forgot' : 'noted the compaction of';
  const text = `${done} session ${id}, which had seen ${countOf(seen, 'file')}`;
  return answer(cli, { ok: true, session: id, seen }, text);
}

/** `lookfirst claims`: lists which session works on which files. */
export const CLAIMS: CliCommand = defineCommand({
  about:
    "Lists which session is working on which file, in this workspace and the repository's other worktrees.",
  flags: { ...STATE_FLAGS, ...SCOPE_FLAGS, session: text('ID', 'only this session') },
  notes: `
A change claims its file until its session's turn ends, for ten minutes at most. Other sessions get
one notice, or are refused if the policy says claims: refuse.

Examples:
  lookfirst claims                      who's working on what
  lookfirst claims --session agent-7`,
  run: async (cli, { session }) => {
    const scope = chosenScope(cli, 'family');
    const rows = await withRecords(cli, (records) =>
      claimViews(records, { scope, session, nowMs: cli.nowMs }),
    );
    return printList(cli, {
      rows,
      columns: [
        whenColumn(cli),
        { ...PATH_COLUMN, cell: ({ key }) => shownPath(cli, key) },
        SESSION_COLUMN,
        CLIENT_COLUMN,
        TURN_COLUMN,
      ],
      json: ({ before: _, after: __, ...claim }) => ({
        ...claim,
        at: new Date(claim.atMs).toISOString(),
        until: new Date(claim.untilMs).toISOString(),
      }),
      none: 'no session works here now (--all shows every workspace)',
    });
  },
});
