import type { World } from '../../gate/world.ts';
import { Ledger } from '../../ledger/ledger.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import { pathText } from '../../report/bounded.ts';
import { relativeTime } from '../../report/relative-time.ts';
import { status } from '../../session/status.ts';
import { canonicalPath } from '../canonical.ts';
import type { Cli } from '../cli.ts';
import { whatOf } from '../entry-row.ts';
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
export async function fileReport(cli: Cli, world: World, question: Question): Promise<ExitCode> {
  const { path, json } = question;
  const { absolute } = canonicalPath(cli.cwd, path);
  const outcome = world.workspace.resolve(absolute);
  if (!outcome.ok) {
    await tellRefusal(cli, { ...outcome.refusal, path }, { json });
    return EXIT.refused;
  }
  const { key, root, relative } = outcome.path;
  await printFile(cli, world, { ...question, key, root, relative, exists: outcome.exists });
  const rows: string[][] = [];
  for (const session of await watchers(world, question, key)) {
    const seen = await status(world, new Ledger({ ...world, session }), absolute);
    const [file] = seen.ok ? seen.files : [];
    if (file === undefined) continue;
    const { lastChange: _, ...rest } = file;
    if (json)
      await cli.terminal.print(JSON.stringify({ type: 'sighting', session, ...rest, path: relative }));
    else rows.push([session, ...seenCells(file, cli.nowMs)]);
  }
  if (json) return EXIT.done;
  if (rows.length === 0) await cli.terminal.print('no session has seen it');
  else
    await cli.terminal.printTable(
      [{ title: 'SESSION', cut: 'end' }, ...seenColumns(cli.terminal.colours)],
      rows,
    );
  return EXIT.done;
}

async function watchers(world: World, { records, session }: Question, key: string): Promise<string[]> {
  if (session) return [session];
  const found: string[] = [];
  for (const { id } of records) if ((await world.store.recall(id, key)) !== undefined) found.push(id);
  return found;
}

async function printFile(
  cli: Cli,
  world: World,
  file: Question & {
    readonly key: string;
    readonly root: string;
    readonly relative: string;
    readonly exists: boolean;
  },
): Promise<void> {
  const { key, root, relative, exists } = file;
  const last = await world.store.lastChange(key);
  if (file.json) {
    const lastChange = last && {
      change: last.change,
      session: last.session,
      atMs: last.atMs,
      action: last.action,
    };
    await cli.terminal.print(JSON.stringify({ type: 'file', path: relative, root, exists, lastChange }));
    return;
  }
  const by =
    last === undefined
      ? 'no recorded change'
      : `last change ${last.change}: ${whatOf(last)} by ${last.session}, ${relativeTime(last.atMs, cli.nowMs)}`;
  await cli.terminal.print(`${pathText(file.path)}${exists ? '' : ' (not there now)'}: ${by}`);
}
