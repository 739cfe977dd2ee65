import { Argument, Command } from 'commander';
import { isStub } from '../../judge/knowledge.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import type { Sighting } from '../../model/sighting.ts';
import { relativeTime } from '../../report/relative-time.ts';
import { openExistingStore } from '../../store/open-existing.ts';
import type { Store } from '../../store/store.ts';
import type { Cli } from '../cli.ts';
import { typeable } from '../entry-row.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addCommonFlags, addScopeFlags, limitOption } from '../flags.ts';
import { lastUsedMs } from '../last-used.ts';
import { Near, type ScopeFlags } from '../near.ts';
import { tellRefusal } from '../refusal-text.ts';
import { placesOf, type StateFlags } from '../settings.ts';
import { count } from '../words.ts';

interface SessionsFlags extends ScopeFlags, StateFlags {
  readonly json?: boolean;
  readonly limit: number;
  readonly session?: string;
}

/** `lookfirst sessions`: who works here, and forgetting one of them. */
export function defineSessions(cli: Cli): Command {
  const command = new Command('lookfirst sessions')
    .description('Who has worked in the workspaces around this folder; forgetting what one of them has seen.')
    .addArgument(new Argument('[action]', 'what to do').choices(['list', 'forget']).default('list'))
    .argument('[id]', 'the session to forget');
  return addCommonFlags(
    addScopeFlags(command).option('--session <id>', 'only this session').addOption(limitOption(50)),
  )
    .addHelpText('after', EXAMPLES)
    .action(async (action: 'list' | 'forget', id: string | undefined, flags: SessionsFlags) => {
      if (action === 'forget' && id === undefined) command.error('error: which session is to be forgotten?');
      if (action === 'list' && id !== undefined) command.error(`error: unexpected argument '${id}'`);
      const store = await openExistingStore(placesOf(cli, flags).store);
      try {
        cli.end(id === undefined ? await list(cli, store, flags) : await forget(cli, store, { id, flags }));
      } finally {
        await store.close();
      }
    });
}

const EXAMPLES = `
Forgetting a session takes away what it has seen, so that it has to read again. The journal keeps what it did.

Examples:
  lookfirst sessions
  lookfirst sessions forget agent-7
  lookfirst sessions --all --json`;

async function list(cli: Cli, store: Store, flags: SessionsFlags): Promise<ExitCode> {
  const near = new Near(cli, flags);
  const records = (await store.sessions())
    .filter((record) => near.includes(record.root) && record.id === (flags.session ?? record.id))
    .slice(0, flags.limit === 0 ? undefined : flags.limit);
  const rows: string[][] = [];
  for (const record of records) {
    const sightings = await store.sightings(record.id);
    const used = { ...record, lastMs: lastUsedMs(record, sightings) };
    const seen = filesAmong(sightings);
    if (flags.json === true) await cli.terminal.print(json(used, seen));
    else rows.push(row(cli, used, seen));
  }
  if (flags.json === true) return EXIT.done;
  if (rows.length === 0) cli.terminal.tell('no sessions here (--all shows every workspace)');
  else await cli.terminal.printTable(COLUMNS, rows);
  return EXIT.done;
}

/** Not counting folders listed, and what it has forgotten or deleted itself. */
function filesAmong(sightings: readonly Sighting[]): number {
  return sightings.filter((each) => each.tombstone !== true && each.how !== 'listing' && !isStub(each))
    .length;
}

const COLUMNS = [
  { title: 'SESSION', cut: 'end' },
  { title: 'WORKSPACE', cut: 'front' },
  { title: 'LAST USED' },
  { title: 'SEEN', align: 'right' },
  { title: 'STATE' },
] as const;

function row(cli: Cli, record: SessionRecord, seen: number): string[] {
  const { id, root, lastMs, parent } = record;
  const of = parent === undefined ? '' : `, of ${parent}`;
  return [
    id,
    typeable(root, cli.cwd),
    relativeTime(lastMs, cli.nowMs),
    String(seen),
    `${stateOf(record)}${of}`,
  ];
}

function json(record: SessionRecord, seen: number): string {
  const last = new Date(record.lastMs).toISOString();
  return JSON.stringify({ ...record, last, state: stateOf(record), seen });
}

/** A session whose process was killed stays open until it is forgotten or expires. */
function stateOf({ closedMs }: SessionRecord): 'open' | 'closed' {
  return closedMs === undefined ? 'open' : 'closed';
}

async function forget(
  cli: Cli,
  store: Store,
  { id, flags }: { readonly id: string; readonly flags: SessionsFlags },
): Promise<ExitCode> {
  const record = (await store.sessions()).find((each) => each.id === id);
  if (record === undefined) {
    const detail = { reason: `there is no session ${JSON.stringify(id)}` };
    const refusal = { code: 'NOT_FOUND', action: 'status', path: '', next: 'fix_argument', detail } as const;
    await tellRefusal(cli, refusal, { json: flags.json, hint: 'lookfirst sessions --all lists them.' });
    return EXIT.refused;
  }
  const { root } = record;
  const entry = { kind: 'session', atMs: cli.nowMs, session: id, root, text: 'forgotten' } as const;
  const seen = filesAmong(await store.sightings(id));
  await store.record({ dropSession: id, entries: [entry] });
  if (flags.json === true) await cli.terminal.print(JSON.stringify({ ok: true, session: id, seen }));
  else await cli.terminal.print(`forgot session ${id}, which had seen ${count(seen, 'file')}`);
  return EXIT.done;
}
