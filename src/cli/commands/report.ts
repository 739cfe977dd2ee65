import { text } from '../../config/flags.ts';
import { type ObservedRefusal, observedRefusals } from '../../records/judged-refusals.ts';
import { Records } from '../../records/records.ts';
import { Scope } from '../../records/scope.ts';
import { countOf } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import type { Column } from '../../report/human.ts';
import { recordsPlaceOf } from '../../session/configured.ts';
import { type Cli, type CliCommand, defineCommand, EXIT, type ExitCode } from '../cli.ts';
import { entryPath, SESSION_COLUMN } from '../entry-row.ts';
import { type Given, limit, SCOPE_FLAGS, STATE_FLAGS } from '../flags.ts';
import { opening } from '../progress.ts';

const FLAGS = {
  ...STATE_FLAGS,
  ...SCOPE_FLAGS,
  session: text('ID', 'only calls of this session'),
  limit: limit(20),
} as const;

/**
 * `lookfirst report`: lists what hooks would have refused while the policy only observed (`mode:
 * observe`).
 */
export const REPORT: CliCommand = defineCommand({
  about:
    'Shows what hooks would have refused while the policy only observed (mode: observe), and whether the refusal would have been right.',
  flags: FLAGS,
  notes: `
right: the call destroyed something that its session had not seen. wrong: it destroyed nothing, so
the refusal would have been a false alarm. unknown: no change followed, or its bytes are gone.

Examples:
  lookfirst report                 what would have been refused here
  lookfirst report --json | jq 'select(.verdict == "wrong")'`,
  run: report,
});

const COLUMNS: readonly Column[] = [
  { title: 'CODE' },
  { title: 'PATH', cut: 'front' },
  { title: 'WHEN' },
  SESSION_COLUMN,
  { title: 'VERDICT' },
];

async function report(cli: Cli, { json, session, limit, ...flags }: Given<typeof FLAGS>): Promise<ExitCode> {
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
