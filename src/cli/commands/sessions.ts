import { choice, text, UsageError, withDefault } from '../../config/flags.ts';
import { Records } from '../../records/records.ts';
import { Scope } from '../../records/scope.ts';
import {
  compactSession,
  forgetSession,
  type SessionView,
  sessionViews,
} from '../../records/session-views.ts';
import { countOf } from '../../report/amounts.ts';
import { jsonText } from '../../report/bounded.ts';
import { policyOf, recordsPlaceOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { sessionTable } from '../entry-row.ts';
import { type Given, limit, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { refuseAgent } from '../operator.ts';
import { opening } from '../progress.ts';
import { refuseReadOnly, tellMissing } from '../refusal-text.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  session: text('ID', 'only this session'),
  limit: limit(50),
} as const;

type SessionsFlags = Given<typeof FLAGS>;

type Action = 'list' | 'forget' | 'compacted';

/** `lookfirst sessions`: lists sessions, forgets one, or reports that a session's context was summarised. */
export const SESSIONS: CliCommand = defineCommand({
  about:
    'Lists the sessions in the workspaces around this folder: open ones, and closed ones that have a name. Forgets what a session has seen, or records that its context was summarised.',
  args: {
    action: withDefault(choice('ACTION', 'what to do', ['list', 'forget', 'compacted']), 'list'),
    id: text('ID', 'the session to forget, or whose context was summarised'),
  },
  flags: FLAGS,
  notes: `
A session without a name is forgotten when it closes. lookfirst log still shows its id and what it
did, and lookfirst undo --session takes that id.

Forgetting a session takes away what it has seen, so that it has to read again. The journal keeps
what it did. After a compaction the model no longer has what it read: it must read again before it
overwrites a file.

Examples:
  lookfirst sessions
  lookfirst sessions forget agent-7
  lookfirst sessions compacted agent-7
  lookfirst sessions --all --json`,
  run: async (cli, { action, id, ...flags }) => {
    if (action !== 'list' && id === undefined) throw new UsageError('ID is missing');
    if (action === 'list' && id !== undefined) throw new UsageError(`unexpected argument '${id}'`);
    const refused = await refuse(cli, action, flags);
    if (refused !== undefined) return refused;
    const records = await opening(cli, Records.open(recordsPlaceOf(cli, flags)));
    try {
      return action === 'list' || id === undefined
        ? await list(cli, records, flags)
        : await change(cli, records, { action, id, flags });
    } finally {
      await records.close();
    }
  },
});

/**
 * Refuses every action but `list` if `--read-only` is given. Refuses `forget` if an agent started
 * the command. Returns the exit code of the refusal, or undefined if the command may continue.
 */
async function refuse(cli: Cli, action: Action, flags: SessionsFlags): Promise<ExitCode | undefined> {
  if (action === 'list') return undefined;
  const refused = await refuseReadOnly(cli, flags);
  return action === 'forget' ? (refused ?? refuseAgent(cli, 'sessions forget', flags)) : refused;
}

async function list(cli: Cli, records: Records, flags: SessionsFlags): Promise<ExitCode> {
  const scope = new Scope({ cwd: cli.cwd, root: flags.root, all: flags.all, family: true });
  const views: SessionView[] = [];
  for await (const view of sessionViews(records, { scope, session: flags.session, limit: flags.limit }))
    if (flags.json === true) await cli.terminal.print(json(view));
    else views.push(view);
  if (flags.json === true) return EXIT.done;
  if (views.length === 0) cli.terminal.tell(NONE);
  else {
    const { columns, cells } = sessionTable(views, cli.cwd);
    const rows = views.map((view) => [...cells(view), ...useCells(cli, view)]);
    await cli.terminal.printTable([...columns, ...COLUMNS], rows);
  }
  return EXIT.done;
}

const NONE = `no sessions here (--all shows every workspace)
Closed sessions without a name are not listed; lookfirst log shows their ids and what they did.`;

const COLUMNS = [{ title: 'LAST USED' }, { title: 'SEEN', align: 'right' }, { title: 'STATE' }] as const;

function useCells({ times }: Cli, { lastMs, parent, seen, state }: SessionView): string[] {
  return [times.age(lastMs), String(seen), parent === undefined ? state : `${state}, of ${parent}`];
}

function json({ state, seen, ...record }: SessionView): string {
  const last = new Date(record.lastMs).toISOString();
  return jsonText({ ...record, last, state, seen });
}

async function change(
  cli: Cli,
  records: Records,
  request: { readonly action: 'forget' | 'compacted'; readonly id: string; readonly flags: SessionsFlags },
): Promise<ExitCode> {
  const { action, id, flags } = request;
  const { nowMs } = cli;
  const seen =
    action === 'forget'
      ? await forgetSession(records, { id, nowMs })
      : await compactSession(records, { id, nowMs, policy: policyOf(cli, flags) });
  if (seen === undefined)
    return tellMissing(cli, `there is no session ${JSON.stringify(id)}`, {
      json: flags.json,
      hint: 'lookfirst sessions --all lists them.',
    });
  const done = action === 'forget' ? 'forgot' : 'noted the compaction of';
  if (flags.json === true) await cli.terminal.printJson({ ok: true, session: id, seen });
  else await cli.terminal.print(`${done} session ${id}, which had seen ${countOf(seen, 'file')}`);
  return EXIT.done;
}
