import { choice, text, UsageError, withDefault } from '../../config/flags.ts';
import type { Records } from '../../records/records.ts';
import { compactSession, forgetSession } from '../../records/session-views.ts';
import { countOf } from '../../report/amounts.ts';
import { policyOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { type Given, limit, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { refuseAgent } from '../operator.ts';
import { refuseReadOnly, tellNoSession } from '../refusal-text.ts';
import { withRecords } from '../with-records.ts';
import { listSessions, lookAround } from './status.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  limit: limit(20),
} as const;

type SessionsFlags = Given<typeof FLAGS>;

/** `lookfirst sessions`: lists sessions, forgets one, or reports that a session's context was summarised. */
export const SESSIONS: CliCommand = defineCommand({
  about:
    'Lists the sessions in the workspaces around this folder: open ones, and closed ones that have a name. Can make a session forget what it has seen, or record that its context was summarised.',
  args: {
    action: withDefault(choice('ACTION', 'what to do', ['list', 'forget', 'compacted']), 'list'),
    id: text('ID', 'the session to forget, or whose context was summarised'),
  },
  flags: FLAGS,
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
  run: async (cli, { action, id, ...flags }) => {
    if (action !== 'list' && id === undefined) throw new UsageError('ID is missing');
    if (action === 'list' && id !== undefined) throw new UsageError(`unexpected argument '${id}'`);
    if (action === 'list' || id === undefined)
      return lookAround(cli, { flags }, (view) => listSessions(cli, view, flags));
    const refused = (await refuseReadOnly(cli, flags)) ?? (await refuseForgetting(cli, action, flags));
    return refused ?? withRecords(cli, flags, (records) => change(cli, records, { action, id, flags }));
  },
});

/** Refuses `forget` if an agent started the command. */
async function refuseForgetting(
  cli: Cli,
  action: 'forget' | 'compacted',
  flags: SessionsFlags,
): Promise<ExitCode | undefined> {
  return action === 'forget' ? refuseAgent(cli, 'sessions forget', flags) : undefined;
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
  if (seen === undefined) return tellNoSession(cli, { json: flags.json, session: id });
  const done = action === 'forget' ? 'forgot' : 'noted the compaction of';
  if (flags.json === true) await cli.terminal.printJson({ ok: true, session: id, seen });
  else await cli.terminal.print(`${done} session ${id}, which had seen ${countOf(seen, 'file')}`);
  return EXIT.done;
}
