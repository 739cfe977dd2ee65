import { resolve } from 'node:path';
import { text, toggle, UsageError, type Values } from '../../config/flags.ts';
import { Fault } from '../../model/fault.ts';
import { defined } from '../../model/record.ts';
import { invalidArgument, type Refusal } from '../../model/verdict.ts';
import { changeOfPath } from '../../records/entry-words.ts';
import type { Records } from '../../records/records.ts';
import { gitLeftAlone, rewindJob } from '../../records/rewind.ts';
import { canonicalPath, Scope } from '../../records/scope.ts';
import { type TurnView, turnViews } from '../../records/turns.ts';
import { couldMerge, type TakenBack, takeBack, type UndoJob, undoJobs } from '../../records/undo-jobs.ts';
import { countOf } from '../../report/amounts.ts';
import { harmless, pathText, phrase } from '../../report/bounded.ts';
import { apartFromGit, GITS_OWN_FILES } from '../../report/git-files.ts';
import { openForCommand, sessionVariable } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { answer, entryPath, printList, SESSION_COLUMN, shownPath, whenColumn } from '../columns.ts';
import { entryRequest, limit, SCOPE_FLAGS, SINCE, STATE_FLAGS } from '../flags.ts';
import { type Reach, reachOf, refuseBeyond } from '../operator.ts';
import { LISTS_CHANGES, namedChange, namedSession, tellRefusal } from '../refusal-text.ts';
import { paintDiff } from '../table.ts';
import { withRecords } from '../with-records.ts';

/** Flags of the commands that take changes back. */
const JOB_FLAGS = {
  dryRun: toggle('show what would happen, without changing anything'),
  merge: toggle('merge with later changes by others instead of refusing'),
  partial: toggle("leave out files that can't be brought back, and name them, instead of refusing"),
  yes: toggle("don't ask for confirmation"),
} as const;

const UNDO_FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  path: text('FILE', 'only what was done to this file'),
  session: text('ID', 'everything this session did'),
  since: SINCE,
  ...JOB_FLAGS,
} as const;

type UndoFlags = Values<typeof UNDO_FLAGS>;

/** `lookfirst undo`: undoes recorded changes through the gate. */
export const UNDO: CliCommand = defineCommand({
  about: 'Undoes recorded changes, and nothing else. You can undo an undo, too.',
  args: {
    change: text(
      'CHANGE',
      "a change's id, from lookfirst log; default: the latest one here that is still in effect",
    ),
  },
  flags: UNDO_FLAGS,
  notes: `
On a terminal it asks before undoing more than one change. If a file has changed since, it refuses,
shows the diff and exits with 2; --merge undoes the change and keeps later changes to other lines.
If some files can't be brought back, it changes nothing and names them; --partial brings back the
others. Without an id, it undoes the latest change here, or, if LOOKFIRST_SESSION is set, that
session's latest. An agent can undo only its own session's changes, and none from a command that
runs on a layer, because the state folder is hidden there.

Examples:
  lookfirst undo --dry-run               what would be undone
  lookfirst undo                         the latest change here
  lookfirst undo c0a1b2c3d4e             that change (if it is an undo: redo)
  lookfirst undo --path src/a.ts         that file's latest change
  lookfirst undo --session agent-7 --since 2h`,
  run: async (cli, { change, ...flags }) => {
    if (flags.path !== undefined && canonicalPath(cli.cwd, flags.path).kind === 'folder')
      throw new UsageError(`${flags.path} is a folder; name a file, a change, a session or a time`);
    return undo(cli, change, flags);
  },
});

async function undo(cli: Cli, change: string | undefined, flags: UndoFlags): Promise<ExitCode> {
  const reach = await reachOf(cli);
  const jobs = await jobsFor(cli, change, { flags, reach });
  if (jobs === 'beyond') return refuseBeyond(cli, 'undo');
  if (jobs.length === 0) return refuseNothing(cli, change);
  // Asks for confirmation only if several changes would be undone.
  const manner = { flags, reach, askFrom: 2, text: (taken: TakenBack) => undoneText(cli, taken) };
  let worst: ExitCode = EXIT.done;
  for (const job of jobs) {
    const code = await run(cli, job, manner).catch((error: unknown) => tellFault(cli, error));
    if (code !== EXIT.done) worst = code;
  }
  return worst;
}

function refuseNothing(cli: Cli, change: string | undefined): Promise<ExitCode> {
  const [reason, next] =
    change === undefined
      ? (['there is no change here to undo', 'none'] as const)
      : ([`there is no change ${change}`, 'fix_argument'] as const);
  return refuse(cli, { code: 'NOT_FOUND', action: 'undo', path: '', next, detail: { reason } });
}

/**
 * Prints the fault of an undo in one workspace, such as a missing folder. The caller continues with
 * the other workspaces.
 */
function tellFault(cli: Cli, error: unknown): ExitCode {
  if (!(error instanceof Fault)) throw error;
  cli.terminal.tell(harmless(`lookfirst: ${error.message} [${error.code}]`));
  return EXIT.fault;
}

/**
 * The undo jobs for a request, or `beyond` if an agent started the command and the changes belong
 * to another session.
 */
async function jobsFor(
  cli: Cli,
  change: string | undefined,
  { flags, reach }: { readonly flags: UndoFlags; readonly reach: Reach },
): Promise<UndoJob[] | 'beyond'> {
  const newestOf = reach.session ?? sessionVariable(cli);
  return withRecords(cli, async (records) => {
    const typed = await namedSession(records, flags.session);
    const session = typed ?? (flags.since === undefined ? undefined : reach.session);
    const named = change === undefined ? undefined : await namedChange(records, change);
    if (change !== undefined && named === undefined) return [];
    if (!reach.includes(named?.session ?? session ?? newestOf ?? '')) return 'beyond';
    return undoJobs(records, { ...entryRequest(cli, flags), session, change: named?.change, newestOf });
  });
}

/** The text about the result of an undo, for users. */
function undoneText(cli: Cli, taken: TakenBack): string {
  const { change, undid } = taken.result;
  const again = change === undefined ? [] : [`lookfirst undo ${change} reverts this undo`];
  return [`took back ${countOf(undid.length, 'change')}:`, ...fileLines(cli, taken), ...again].join('\n');
}

const REWIND_FLAGS = {
  ...STATE_FLAGS,
  root: SCOPE_FLAGS.root,
  session: text('ID', 'only turns of this session'),
  all: toggle('undo the changes of all sessions since the turn began'),
  ...JOB_FLAGS,
  limit: limit(20),
} as const;

type RewindFlags = Values<typeof REWIND_FLAGS>;

/** `lookfirst rewind`: returns the files to their state at the beginning of a turn. */
export const REWIND: CliCommand = defineCommand({
  about:
    'Lists the turns of the sessions here and the files each one changed. With a turn: takes the files back to where they were when it began, as one change you can undo.',
  args: {
    turn: text('TURN', "a turn's id or label; undoes the changes of its session and sub-agents"),
  },
  flags: REWIND_FLAGS,
  notes: `
A turn is what happened between two user prompts, or since a checkpoint. On a terminal it shows what
would happen and asks first. If another session or program has changed a file since, it changes
nothing and exits with 2; --partial brings back the other files. lookfirst undo undoes a rewind. An
agent can rewind only its own session, and not from a command that runs on a layer, because the
state folder is hidden there.

Examples:
  lookfirst rewind                       the last 20 turns here
  lookfirst rewind prompt-12 --dry-run   what going back to that prompt would do
  lookfirst rewind prompt-12             go back to it
  lookfirst rewind prompt-12 --all       including what other sessions did since`,
  run: (cli, { turn, ...flags }) => (turn === undefined ? list(cli, flags.limit) : rewind(cli, turn, flags)),
});

/** A row of the list of turns names at most this many files and counts the others; `--json` names all. */
const MAX_NAMED = 5;

async function list(cli: Cli, limit: number): Promise<ExitCode> {
  const rows = await withRecords(cli, async (records) => {
    const session = await namedSession(records, cli.flags.session);
    return turnViews(records, { scope: scopeHere(cli), session, limit });
  });
  return printList(cli, {
    rows,
    columns: [
      whenColumn(cli),
      { title: 'TURN', paint: cli.terminal.colours.yellow, cell: ({ turn }) => turn },
      SESSION_COLUMN,
      { title: 'PROMPT', cut: 'end', cell: ({ label, prompt }) => label ?? prompt ?? '' },
      { title: 'FILES', cut: 'end', cell: filesText },
    ],
    json: ({ turn, label, prompt, promptNumber, session, atMs, files, changes, stands }) => ({
      ...{ turn, label, prompt, promptNumber, session },
      at: new Date(atMs).toISOString(),
      ...{ files, changes, stands },
    }),
    none: 'no turns are recorded here: only clients with hooks, and programs that call beginTurn() or checkpoint(), record them',
  });
}

function filesText({ files, stands }: TurnView): string {
  const { shown, gits } = apartFromGit(files, (path) => path);
  const more = shown.length > MAX_NAMED ? ` and ${shown.length - MAX_NAMED} more` : '';
  const git = gits.length === 0 ? '' : `${shown.length === 0 ? '' : ' and '}${GITS_OWN_FILES}`;
  const gone = files.length > 0 && !stands ? ' (taken back)' : '';
  return `${shown.slice(0, MAX_NAMED).map(pathText).join(', ')}${more}${git}${gone}`;
}

/** The workspaces here. `--all` of `rewind` means all sessions. */
function scopeHere({ cwd, flags: { root } }: Cli): Scope {
  return new Scope({ cwd, root });
}

async function rewind(cli: Cli, name: string, flags: RewindFlags): Promise<ExitCode> {
  const { turns, job } = await withRecords(cli, (records) => find(cli, records, name));
  const [turn, other] = turns;
  if (turn === undefined) {
    const detail = { cause: 'turn', reason: `there is no turn ${name} here` } as const;
    const refusal = { code: 'NOT_FOUND', action: 'undo', path: '', next: 'fix_argument', detail } as const;
    return tellRefusal(cli, refusal, 'Nothing was changed. lookfirst rewind without a turn lists them.');
  }
  if (other !== undefined) return tellAmbiguous(cli, turns, name);
  const reach = await reachOf(cli);
  if (!reach.includes(turn.session) || (flags.all === true && !reach.all)) return refuseBeyond(cli, 'rewind');
  const fields = { turn: turn.turn, session: turn.session };
  if (job === undefined) {
    if (cli.flags.json !== true) cli.terminal.tell('nothing was changed since that turn began');
    else
      await cli.terminal.printJson({
        ok: true,
        dryRun: flags.dryRun === true,
        ...fields,
        undid: [],
        files: [],
      });
    return EXIT.done;
  }
  const text = (taken: TakenBack): string => rewoundText(cli, taken, turn.label ?? turn.turn);
  const code = await run(cli, job, { flags, reach, askFrom: 1, fields, text });
  const left = code === EXIT.done && flags.dryRun !== true ? gitLeftAlone(turn) : [];
  if (left.length > 0)
    cli.terminal.tell(
      [
        'git itself was not rewound. What differs, and the command for it:',
        ...left.map((line) => `  ${line}`),
      ].join('\n'),
    );
  return code;
}

async function find(
  cli: Cli,
  records: Records,
  name: string,
): Promise<{ readonly turns: readonly TurnView[]; readonly job: UndoJob | undefined }> {
  const scope = scopeHere(cli);
  const session = await namedSession(records, cli.flags.session);
  const turns = await turnViews(records, { scope, session, name });
  const [turn] = turns;
  const of = cli.flags.all === true ? 'everyone' : 'session';
  return { turns, job: turn && (await rewindJob(records, { turn, scope, of })) };
}

function tellAmbiguous(cli: Cli, turns: readonly TurnView[], name: string): Promise<ExitCode> {
  const sessions = [...new Set(turns.map(({ session }) => session))].slice(0, MAX_NAMED).join(', ');
  const reason = `several turns are named ${name}, of the sessions ${sessions}`;
  const hint = 'Nothing was changed. Name the turn by its id, and its session with --session.';
  return tellRefusal(cli, invalidArgument('status', '', reason), hint);
}

/** The text about the result of a rewind, for users. */
function rewoundText(cli: Cli, taken: TakenBack, turn: string): string {
  const { change, undid } = taken.result;
  const again = change === undefined ? [] : ['lookfirst undo takes the rewind back'];
  const first = `returned to the beginning of turn ${phrase(turn)}: took back ${countOf(undid.length, 'change')}:`;
  return [first, ...fileLines(cli, taken), ...again].join('\n');
}

/** The properties in which undos and rewinds differ. */
interface Manner {
  readonly flags: Values<typeof JOB_FLAGS>;
  /** If an agent started the command, it does not bring back what only the user may. */
  readonly reach: Reach;
  /** At a terminal, the user must confirm if at least this many changes would be undone. */
  readonly askFrom: number;
  /** Additional fields of the answer with `--json`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The text about the result, for the user. */
  text(taken: TakenBack): string;
}

/**
 * Undoes the changes of a job and prints the result. For at least `askFrom` changes at a terminal,
 * first shows a preview and asks the user. A dry run only prints the preview.
 */
async function run(cli: Cli, job: UndoJob, manner: Manner): Promise<ExitCode> {
  const { merge, partial, dryRun: isTrial } = manner.flags;
  const { folders = [] } = scopeHere(cli);
  const sessions = await openForCommand(cli, cli.flags, { roots: job.roots, folders });
  const within = manner.reach.all ? {} : ({ within: 'workspace' } as const);
  const selection = { ...job.selection, ...within, ...defined({ merge, partial }) };
  const dryRun = isTrial === true || cli.flags.readOnly === true;
  const show = (taken: TakenBack): Promise<ExitCode> => {
    const { change, undid, files, left, diff } = taken.result;
    const json = { ok: true, dryRun, ...manner.fields, change, root: taken.root, undid, files, left, diff };
    return answer(cli, json, dryRun ? previewText(cli, taken) : manner.text(taken));
  };
  const refused = async (refusal: Refusal): Promise<ExitCode> => {
    const canMerge = cli.flags.json !== true && (await couldMerge(sessions, refusal, selection));
    return refuse(cli, refusal, canMerge ? MERGE_HINT : undefined);
  };
  try {
    const preview = await takeBack(sessions, { ...selection, preview: true });
    if (!preview.ok) return await refused(preview.refusal);
    if (dryRun) return await show(preview.taken);
    // Say what stays as it is before anything is changed.
    if (cli.flags.json !== true) for (const text of leftLines(cli, preview.taken)) cli.terminal.tell(text);
    if (!(await isMeant(cli, preview.taken, manner))) return EXIT.refused;
    const outcome = await takeBack(sessions, selection);
    return await (outcome.ok ? show(outcome.taken) : refused(outcome.refusal));
  } finally {
    await sessions.close();
  }
}

async function isMeant(cli: Cli, preview: TakenBack, { askFrom, flags }: Manner): Promise<boolean> {
  const { length } = preview.changes;
  if (length < askFrom || flags.yes === true || cli.flags.json === true) return true;
  if (!cli.terminal.isInteractive) return true;
  cli.terminal.tell(previewText(cli, preview));
  if (await cli.terminal.confirm(`Take back ${countOf(length, 'change')}?`)) return true;
  cli.terminal.tell('nothing was changed');
  return false;
}

const MERGE_HINT = '--merge undoes the change and keeps later changes to other lines.';

function refuse(cli: Cli, refusal: Refusal, mergeHint?: string): Promise<ExitCode> {
  const { code, next, detail } = refusal;
  const isUnknown = code === 'NOT_FOUND' && next === 'fix_argument' && detail?.refusals === undefined;
  const hints = [
    'Nothing was changed.',
    ...(mergeHint === undefined ? [] : [mergeHint]),
    ...(detail?.restorable === undefined ? [] : [partialHint(detail.restorable)]),
    ...(isUnknown ? [LISTS_CHANGES] : []),
  ];
  return tellRefusal(cli, refusal, hints.join(' '));
}

function partialHint(files: number): string {
  return `--partial brings back the other ${countOf(files, 'file').replace(/^1 /, '')}.`;
}

const MAX_LISTED = 20;

/** The text of the preview of an undo: the changes, files and lines it concerns. */
function previewText(cli: Cli, taken: TakenBack): string {
  const { result, changes } = taken;
  const more = changes.length - MAX_LISTED;
  return [
    `would take back ${countOf(result.undid.length, 'change')}:`,
    ...changes
      .slice(0, MAX_LISTED)
      .map(
        (entry) =>
          `  ${entry.change}  ${changeOfPath(entry, entryPath(cli, entry))} by ${entry.session}, ${cli.age(entry.atMs)}`,
      ),
    ...(more > 0 ? [`  and ${more} more`] : []),
    'the files would be:',
    ...fileLines(cli, taken),
    ...leftLines(cli, taken),
    ...(result.diff === undefined ? [] : [paintDiff(harmless(result.diff), cli.terminal.colours)]),
  ].join('\n');
}

/** The files that a partial undo cannot restore, with the reasons. Empty if it restores all. */
function leftLines(cli: Cli, { root, result: { left = [] } }: TakenBack): string[] {
  if (left.length === 0) return [];
  const line = ({ path, code, reason }: (typeof left)[number]): string =>
    `  ${shownPath(cli, resolve(root, path))}  ${phrase(reason)} [${code}]`;
  return [['cannot bring back:', ...listed(left, line)].join('\n')];
}

function fileLines(cli: Cli, { root, result: { files } }: TakenBack): string[] {
  return listed(files, ({ path, did }) => `  ${did.padEnd(10)}  ${shownPath(cli, resolve(root, path))}`);
}

/** At most `MAX_LISTED` lines for files, and one for the rest and git's own files. */
function listed<T extends { readonly path: string }>(
  files: readonly T[],
  line: (file: T) => string,
): string[] {
  const { shown, gits } = apartFromGit(files, ({ path }) => path);
  const lines = shown.slice(0, MAX_LISTED).map(line);
  const more = shown.length - lines.length;
  const rest = [...(more > 0 ? [`${more} more`] : []), ...(gits.length > 0 ? [GITS_OWN_FILES] : [])];
  return rest.length > 0 ? [...lines, `  and ${rest.join(', and ')}`] : lines;
}
