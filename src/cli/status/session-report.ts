import { filesSeenBy } from '../../records/status-views.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { Cli } from '../cli.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { seenCells, seenColumns } from './seen-words.ts';

/** The files a session has seen, most recently seen first, and whether they still are as it saw them. */
export async function sessionReport(
  cli: Cli,
  open: Sessions,
  { session, json }: { readonly session: string; readonly json: boolean },
): Promise<ExitCode> {
  const files = await filesSeenBy(open, session);
  if (json) {
    for (const file of files) await cli.terminal.printJson({ type: 'sighting', session, ...file });
    return EXIT.done;
  }
  if (files.length === 0) {
    cli.terminal.tell(`session ${session} has seen no file here`);
    return EXIT.done;
  }
  const rows = files.map((file) => [file.path, ...seenCells(file, cli.nowMs)]);
  await cli.terminal.printTable(
    [{ title: 'PATH', cut: 'front' }, ...seenColumns(cli.terminal.colours)],
    rows,
  );
  return EXIT.done;
}
