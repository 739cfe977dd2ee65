import type { SessionRecord } from '../../model/session-record.ts';
import { whatOf } from '../../records/entry-words.ts';
import { type FileView, fileView } from '../../records/status-views.ts';
import { pathText } from '../../report/bounded.ts';
import { relativeTime } from '../../report/relative-time.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { tellRefusal } from '../refusal-text.ts';
import { seenCells, seenColumns } from './seen-words.ts';

interface Question {
  readonly path: string;
  readonly records: readonly SessionRecord[];
  /** Only this one. */
  readonly session: string | undefined;
  readonly json: boolean;
}

/** Who has seen a file, whether it is still as they saw it, and who changed it last. */
export async function fileReport(cli: Cli, open: Sessions, question: Question): Promise<ExitCode> {
  const { path, records: sessions, session, json } = question;
  const outcome = await fileView(open, { cwd: cli.cwd, path, sessions, session });
  if (!outcome.ok) {
    await tellRefusal(cli, outcome.refusal, { json });
    return EXIT.refused;
  }
  const { view } = outcome;
  await (json ? printJson(cli, view) : printText(cli, path, view));
  return EXIT.done;
}

async function printJson(
  cli: Cli,
  { root, relative, exists, lastChange: last, seenBy }: FileView,
): Promise<void> {
  const lastChange = last && {
    change: last.change,
    session: last.session,
    atMs: last.atMs,
    action: last.action,
  };
  await cli.terminal.printJson({ type: 'file', path: relative, root, exists, lastChange });
  for (const { session, file } of seenBy) {
    const { lastChange: _, ...rest } = file;
    await cli.terminal.printJson({ type: 'sighting', session, ...rest, path: relative });
  }
}

async function printText(
  cli: Cli,
  path: string,
  { exists, lastChange: last, seenBy }: FileView,
): Promise<void> {
  const by =
    last === undefined
      ? 'no recorded change'
      : `last change ${last.change}: ${whatOf(last)} by ${last.session}, ${relativeTime(last.atMs, cli.nowMs)}`;
  await cli.terminal.print(`${pathText(path)}${exists ? '' : ' (not there now)'}: ${by}`);
  if (seenBy.length === 0) return cli.terminal.print('no session has seen it');
  const rows = seenBy.map(({ session, file }) => [session, ...seenCells(file, cli.nowMs)]);
  const columns = [{ title: 'SESSION', cut: 'end' } as const, ...seenColumns(cli.terminal.colours)];
  await cli.terminal.printTable(columns, rows);
}
