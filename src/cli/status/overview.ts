import type { Entry } from '../../model/entry.ts';
import { whatOf } from '../../records/entry-words.ts';
import type { Scope } from '../../records/scope.ts';
import type { PlacedSession } from '../../records/session-views.ts';
import { type StateSize, stateSize } from '../../records/state-size.ts';
import {
  clientOf,
  newestChange,
  sessionFreshness,
  type UnjudgedCalls,
  unjudgedCalls,
} from '../../records/status-views.ts';
import { byteSize } from '../../report/amounts.ts';
import { jsonText, pathText } from '../../report/bounded.ts';
import type { Column } from '../../report/human.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { Cli } from '../cli.ts';
import { entryPath, sessionTable, writerWords } from '../entry-row.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { countOf } from '../words.ts';

interface Question {
  readonly records: readonly PlacedSession[];
  readonly scope: Scope;
  readonly home: string;
  readonly json: boolean;
}

/** Sessions in the table: for each of them every file it has seen is checked. */
const MAX_SESSIONS = 20;

const COLUMNS: readonly Column[] = [
  { title: 'LAST USED' },
  { title: 'SEEN', align: 'right' },
  { title: 'OUT OF DATE', align: 'right' },
];

/** Prints the state, the last change and the sessions in scope. */
export async function overview(cli: Cli, open: Sessions, question: Question): Promise<ExitCode> {
  const { records, scope, home, json } = question;
  const last = await newestChange(open, scope);
  const size = await stateSize(open.world);
  const unjudged = await unjudgedCalls(open.world, { nowMs: cli.nowMs, scope });
  const state = { home, size, last, client: await clientOf(open, last), unjudged };
  await cli.terminal.print(json ? stateJson(open, state) : stateText(cli, open, state));
  const shown = records.slice(0, MAX_SESSIONS);
  const table = sessionTable(shown, cli.cwd);
  const rows: string[][] = [];
  for (const record of shown) {
    const { seen, outOfDate, lastMs } = await sessionFreshness(open, record);
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
}

function stateJson({ world }: Sessions, { home, size, last, client, unjudged }: State): string {
  const lastChange = last && {
    change: last.change,
    session: last.session,
    client,
    turn: last.turn,
    atMs: last.atMs,
    action: last.action,
    root: last.root,
    path: last.path,
  };
  const { roots, guarantee } = world.workspace;
  return jsonText({
    type: 'state',
    home,
    store: world.store.url,
    roots,
    guarantee,
    ...size,
    lastChange,
    unjudged: unjudged.count,
  });
}

function stateText(cli: Cli, { world }: Sessions, { home, size, last, client, unjudged }: State): string {
  const { entries, storeBytes, images } = size;
  const change =
    last === undefined
      ? 'none'
      : `${whatOf(last)} ${pathText(entryPath(last, cli.cwd))} by ${writerWords(last, client)}, ${cli.times.age(last.atMs)} (${last.change})`;
  return [
    `workspace    ${world.workspace.roots.map(pathText).join(', ')}`,
    `last change  ${change}`,
    `state        ${home}: ${countOf(entries, 'entry')} (${byteSize(storeBytes)}), ${countOf(images.count, 'kept image')} (${byteSize(images.bytes)})`,
    ...unjudgedText(cli, unjudged),
  ].join('\n');
}

function unjudgedText({ times }: Cli, { count: calls, newest }: UnjudgedCalls): readonly string[] {
  if (newest === undefined) return [];
  const when = times.age(newest.atMs);
  return [
    `unjudged     ${countOf(calls, 'call')} passed without being judged, the last ${when}; see lookfirst doctor`,
  ];
}
