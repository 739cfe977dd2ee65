import { type ObservedRefusal, observedRefusals } from '../../records/judged-refusals.ts';
import { Records } from '../../records/records.ts';
import { Scope } from '../../records/scope.ts';
import { countOf } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import type { Column } from '../../report/human.ts';
import { recordsPlaceOf, type StateFlags } from '../../session/configured.ts';
import { type Cli, EXIT, type ExitCode } from '../cli.ts';
import { entryPath, SESSION_COLUMN } from '../entry-row.ts';
import { opening } from '../progress.ts';

const COLUMNS: readonly Column[] = [
  { title: 'CODE' },
  { title: 'PATH', cut: 'front' },
  { title: 'WHEN' },
  SESSION_COLUMN,
  { title: 'VERDICT' },
];

interface ObservedFlags extends StateFlags {
  readonly root?: readonly string[];
  readonly all?: boolean;
  readonly session?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/**
 * Lists what hooks would have refused while the policy only observed (`mode: observe`), and whether
 * each refusal would have been right.
 */
export async function showObserved(
  cli: Cli,
  { json, session, limit, ...flags }: ObservedFlags,
): Promise<ExitCode> {
  const records = await opening(cli, Records.open(recordsPlaceOf(cli, flags)));
  const scope = new Scope({ cwd: cli.cwd, root: flags.root, all: flags.all });
  try {
    const found: ObservedRefusal[] = [];
    const filter = { ...scope.filter, ...(session === undefined ? {} : { session }) };
    for await (const each of observedRefusals(records, filter)) found.push(each);
    const shown = limit === 0 ? found : found.slice(0, limit);
    if (json === true) await printJson(cli, shown);
    else await printTable(cli, found, shown);
    return EXIT.done;
  } finally {
    await records.close();
  }
}

async function printJson(cli: Cli, shown: readonly ObservedRefusal[]): Promise<void> {
  for (const { refusal, verdict, change } of shown) {
    const { atMs, session, turn, root, path, code, action } = refusal;
    const at = new Date(atMs).toISOString();
    await cli.terminal.printJson({ at, session, turn, root, path, code, action, verdict, change });
  }
}

async function printTable(
  cli: Cli,
  found: readonly ObservedRefusal[],
  shown: readonly ObservedRefusal[],
): Promise<void> {
  const counted = (verdict: ObservedRefusal['verdict']) =>
    found.filter((each) => each.verdict === verdict).length;
  const calls = countOf(found.length, 'call');
  await cli.terminal.print(
    `${calls} would have been refused: ${counted('right')} right, ${counted('wrong')} wrong, ${counted('unknown')} unknown`,
  );
  if (shown.length === 0) return;
  const rows = shown.map(({ refusal, verdict }) => [
    refusal.code ?? '',
    pathText(entryPath(refusal, cli.cwd)),
    cli.times.age(refusal.atMs),
    refusal.session,
    verdict,
  ]);
  await cli.terminal.printTable(COLUMNS, rows);
}
