import type { World } from '../../gate/world.ts';
import { Ledger } from '../../ledger/ledger.ts';
import type { Entry } from '../../model/entry.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import { pathText } from '../../report/bounded.ts';
import { byteSize } from '../../report/byte-size.ts';
import type { Column } from '../../report/human.ts';
import { relativeTime } from '../../report/relative-time.ts';
import { status } from '../../session/status.ts';
import type { Cli } from '../cli.ts';
import { shownPath, typeable, whatOf } from '../entry-row.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { lastUsedMs } from '../last-used.ts';
import type { Near } from '../near.ts';
import { type StateSize, sizeOf } from '../state-size.ts';
import { count } from '../words.ts';

interface Question {
  readonly records: readonly SessionRecord[];
  readonly near: Near;
  readonly home: string;
  readonly json: boolean;
}

/** Sessions in the table; each costs a look at the files it has seen. */
const MAX_SESSIONS = 20;

const COLUMNS: readonly Column[] = [
  { title: 'SESSION', cut: 'end' },
  { title: 'WORKSPACE', cut: 'front' },
  { title: 'LAST USED' },
  { title: 'SEEN', align: 'right' },
  { title: 'OUT OF DATE', align: 'right' },
];

/** The state, the last change and the sessions around. */
export async function overview(cli: Cli, world: World, question: Question): Promise<ExitCode> {
  const { records, near, home, json } = question;
  const [last] = await world.store.entries({ ...near.filter, kinds: ['change'], limit: 1 });
  const size = await sizeOf(world);
  if (json) await cli.terminal.print(stateJson(world, { home, size, last }));
  else await cli.terminal.print(stateText(cli, world, { home, size, last }));
  const rows: string[][] = [];
  for (const record of records.slice(0, MAX_SESSIONS)) {
    const { seen, outOfDate, lastMs } = await lookAt(world, record);
    const { id, root } = record;
    if (json)
      await cli.terminal.print(JSON.stringify({ type: 'session', id, root, lastMs, seen, outOfDate }));
    else
      rows.push([
        id,
        typeable(root, cli.cwd),
        relativeTime(lastMs, cli.nowMs),
        String(seen),
        String(outOfDate),
      ]);
  }
  if (rows.length > 0) await cli.terminal.print('');
  if (rows.length > 0) await cli.terminal.printTable(COLUMNS, rows);
  const more = records.length - MAX_SESSIONS;
  if (!json && more > 0) await cli.terminal.print(`and ${more} more; lookfirst sessions lists them`);
  return EXIT.done;
}

async function lookAt(
  world: World,
  record: SessionRecord,
): Promise<{ readonly seen: number; readonly outOfDate: number; readonly lastMs: number }> {
  const ledger = new Ledger({ ...world, session: record.id });
  const all = await ledger.all();
  const seen = all.filter((sighting) => sighting.how !== 'listing').length;
  const looked = await status(world, ledger, undefined);
  const files = looked.ok ? looked.files : [];
  const outOfDate = files.filter(({ freshness }) => freshness === 'stale' || freshness === 'deleted').length;
  return { seen, outOfDate, lastMs: lastUsedMs(record, all) };
}

interface State {
  readonly home: string;
  readonly size: StateSize;
  readonly last: Entry | undefined;
}

function stateJson(world: World, { home, size, last }: State): string {
  const lastChange = last && {
    change: last.change,
    session: last.session,
    atMs: last.atMs,
    action: last.action,
    root: last.root,
    path: last.path,
  };
  const { roots, guarantee } = world.workspace;
  return JSON.stringify({
    type: 'state',
    home,
    store: world.store.url,
    roots,
    guarantee,
    ...size,
    lastChange,
  });
}

function stateText(cli: Cli, world: World, { home, size, last }: State): string {
  const { entries, storeBytes, images } = size;
  const change =
    last === undefined
      ? 'none'
      : `${whatOf(last)} ${pathText(shownPath(last, cli.cwd))} by ${last.session}, ${relativeTime(last.atMs, cli.nowMs)} (${last.change})`;
  return [
    `workspace    ${world.workspace.roots.map(pathText).join(', ')}`,
    `last change  ${change}`,
    `state        ${home}: ${count(entries, 'entry')} (${byteSize(storeBytes)}), ${count(images.count, 'kept image')} (${byteSize(images.bytes)})`,
  ].join('\n');
}
