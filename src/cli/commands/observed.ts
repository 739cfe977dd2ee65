import { type ObservedRefusal, observedRefusals } from '../../records/judged-refusals.ts';
import { Scope } from '../../records/scope.ts';
import { countOf } from '../../report/amounts.ts';
import type { StateFlags } from '../../session/configured.ts';
import { type Cli, EXIT, type ExitCode } from '../cli.ts';
import { entryPath, PATH_COLUMN, printList, SESSION_COLUMN, whenColumn } from '../columns.ts';
import { withRecords } from '../with-records.ts';

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
export async function showObserved(cli: Cli, { session, limit, ...flags }: ObservedFlags): Promise<ExitCode> {
  const { filter } = new Scope({ cwd: cli.cwd, root: flags.root, all: flags.all });
  const found = await withRecords(cli, flags, async (records) => {
    const all: ObservedRefusal[] = [];
    for await (const each of observedRefusals(
      records,
      session === undefined ? filter : { ...filter, session },
    ))
      all.push(each);
    return all;
  });
  const count = (verdict: ObservedRefusal['verdict']) =>
    `${found.filter((each) => each.verdict === verdict).length} ${verdict}`;
  const summary = `${countOf(found.length, 'call')} would have been refused: ${count('right')}, ${count('wrong')}, ${count('unknown')}`;
  if (flags.json !== true) await cli.terminal.print(summary);
  if (found.length === 0) return EXIT.done;
  return printList(cli, flags, {
    rows: (limit === 0 ? found : found.slice(0, limit)).map((each) => ({ ...each.refusal, ...each })),
    columns: [
      { title: 'CODE', cell: ({ code = '' }) => code },
      { ...PATH_COLUMN, cell: (row) => entryPath(cli, row) },
      whenColumn(cli),
      SESSION_COLUMN,
      { title: 'VERDICT', cell: ({ verdict }) => verdict },
    ],
    json: ({ atMs, session, turn, root, path, code, action, verdict, change }) => ({
      at: new Date(atMs).toISOString(),
      ...{ session, turn, root, path, code, action, verdict, change },
    }),
    none: '',
  });
}
