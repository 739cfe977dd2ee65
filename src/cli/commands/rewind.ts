import { text, toggle } from '../../config/flags.ts';
import { invalidArgument } from '../../model/verdict.ts';
import type { Records } from '../../records/records.ts';
import { gitLeftAlone, rewindJob } from '../../records/rewind.ts';
import { Scope } from '../../records/scope.ts';
import { type TurnView, turnViews } from '../../records/turns.ts';
import type { TakenBack, UndoJob } from '../../records/undo-jobs.ts';
import { pathText } from '../../report/bounded.ts';
import { apartFromGit, GITS_OWN_FILES } from '../../report/git-files.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { printList, SESSION_COLUMN, whenColumn } from '../columns.ts';
import { type Given, limit, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { reachOf, refuseBeyond } from '../operator.ts';
import { namedSession, tellRefusal } from '../refusal-text.ts';
import { rewoundText, runUndoJob, UNDO_FLAGS, withinReach } from '../undo-job.ts';
import { withRecords } from '../with-records.ts';

const FLAGS = {
  ...STATE_FLAGS,
  root: SCOPE_FLAGS.root,
  session: text('ID', 'only turns of this session'),
  all: toggle('undo the changes of all sessions since the turn began'),
  ...UNDO_FLAGS,
  limit: limit(20),
} as const;

type Flags = Given<typeof FLAGS>;

/**
 * Maximum number of file names in a row of the list of turns. Further files are only counted;
 * `--json` names all.
 */
const MAX_NAMED = 5;

/** `lookfirst rewind`: returns the files to their state at the beginning of a turn. */
export const REWIND: CliCommand = defineCommand({
  about:
    'Lists the turns of the sessions here and the files each one changed. With a turn: takes the files back to where they were when it began, as one change you can undo.',
  args: {
    turn: text('TURN', "a turn's id or label; undoes the changes of its session and sub-agents"),
  },
  flags: FLAGS,
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
  run: (cli, { turn, ...flags }) => (turn === undefined ? list(cli, flags) : rewind(cli, turn, flags)),
});

async function list(cli: Cli, flags: Flags): Promise<ExitCode> {
  const { limit } = flags;
  const scope = scopeOf(cli, flags);
  const rows = await withRecords(cli, flags, async (records) => {
    const session = await namedSession(records, flags.session);
    return turnViews(records, { scope, session, limit });
  });
  return printList(cli, flags, {
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

function scopeOf(cli: Cli, { root }: Flags): Scope {
  return new Scope({ cwd: cli.cwd, root });
}

async function rewind(cli: Cli, name: string, flags: Flags): Promise<ExitCode> {
  const { turns, job } = await withRecords(cli, flags, (records) =>
    find(records, scopeOf(cli, flags), { name, flags }),
  );
  const [turn, other] = turns;
  if (turn === undefined) return tellUnknown(cli, name, flags);
  if (other !== undefined) return tellAmbiguous(cli, turns, { name, flags });
  const reach = await reachOf(cli, flags);
  if (!reach.includes(turn.session) || (flags.all === true && !reach.all))
    return refuseBeyond(cli, 'rewind', flags);
  if (job === undefined) return tellNothing(cli, turn, flags);
  const text = (taken: TakenBack): string => rewoundText(cli, taken, turn.label ?? turn.turn);
  const fields = { turn: turn.turn, session: turn.session };
  const code = await runUndoJob(cli, withinReach(job, reach), {
    flags,
    manner: { askFrom: 1, fields, text },
  });
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
  records: Records,
  scope: Scope,
  { name, flags }: { readonly name: string; readonly flags: Flags },
): Promise<{ readonly turns: readonly TurnView[]; readonly job: UndoJob | undefined }> {
  const session = await namedSession(records, flags.session);
  const turns = await turnViews(records, { scope, session, name });
  const [turn] = turns;
  const of = flags.all === true ? 'everyone' : 'session';
  return { turns, job: turn && (await rewindJob(records, { turn, scope, of })) };
}

function tellAmbiguous(
  cli: Cli,
  turns: readonly TurnView[],
  { name, flags }: { readonly name: string; readonly flags: Flags },
): Promise<ExitCode> {
  const sessions = [...new Set(turns.map(({ session }) => session))].slice(0, MAX_NAMED).join(', ');
  const reason = `several turns are named ${name}, of the sessions ${sessions}`;
  const hint = 'Nothing was changed. Name the turn by its id, and its session with --session.';
  return tellRefusal(cli, invalidArgument('status', '', reason), { json: flags.json, hint });
}

async function tellNothing(cli: Cli, { turn, session }: TurnView, flags: Flags): Promise<ExitCode> {
  const dryRun = flags.dryRun === true;
  if (flags.json === true)
    await cli.terminal.printJson({ ok: true, dryRun, turn, session, undid: [], files: [] });
  else cli.terminal.tell('nothing was changed since that turn began');
  return EXIT.done;
}

function tellUnknown(cli: Cli, name: string, { json }: Flags): Promise<ExitCode> {
  const detail = { cause: 'turn', reason: `there is no turn ${name} here` } as const;
  const refusal = { code: 'NOT_FOUND', action: 'undo', path: '', next: 'fix_argument', detail } as const;
  const hint = 'Nothing was changed. lookfirst rewind without a turn lists them.';
  return tellRefusal(cli, refusal, { json, hint });
}
