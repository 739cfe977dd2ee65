import { isAbsolute, relative } from 'node:path';
import { deltasOf, type Entry } from '../model/entry.ts';
import type { stateSize } from '../records/clean-up.ts';
import { absolutePathOf, detailOf, whatOf } from '../records/entry-words.ts';
import { byteSize, countOf } from '../report/amounts.ts';
import { pathText, phrase } from '../report/bounded.ts';
import { isGitsOwn } from '../report/git-files.ts';
import { type Cli, EXIT, type ExitCode } from './cli.ts';
import type { Colours, TableColumn } from './table.ts';

/** The rows, columns and JSON that a command lists. */
interface Listing<T> {
  readonly rows: readonly T[];
  readonly columns: readonly TableColumn<NoInfer<T>>[];
  /** The JSON value of a row, for programs. */
  json(row: NoInfer<T>): object;
  /** Told to the user if there are no rows. */
  readonly none: string;
}

/** Prints rows as a table for users, or with `--json` as one object per line. */
export async function printList<T>(
  { terminal, flags }: Pick<Cli, 'terminal' | 'flags'>,
  { rows, columns, json: dataOf, none }: Listing<T>,
): Promise<ExitCode> {
  if (flags.json === true) for (const row of rows) await terminal.printJson(dataOf(row));
  else if (rows.length === 0) terminal.tell(none);
  else await terminal.printTable(columns, rows);
  return EXIT.done;
}

/** Prints an answer: as one line of JSON with `--json`, otherwise as a text. */
export async function answer({ terminal, flags }: Cli, json: unknown, text: string): Promise<ExitCode> {
  await (flags.json === true ? terminal.printJson(json) : terminal.print(text));
  return EXIT.done;
}

/** The column of a time. */
export function whenColumn({ age }: Pick<Cli, 'age'>): TableColumn<{ readonly atMs?: number | undefined }> {
  return { title: 'WHEN', cell: ({ atMs }) => (atMs === undefined ? '' : age(atMs)) };
}

/** The column of session ids. One very long id does not widen the other rows. */
export const SESSION_COLUMN: TableColumn<{ readonly session: string }> = {
  title: 'SESSION',
  cut: 'end',
  padAtMost: 40,
  cell: ({ session }) => session,
};

/** A column of paths, whose last parts say more than the first. */
export const PATH_COLUMN = { title: 'PATH', cut: 'front' } as const;

/** A column that may be cut at its end. A table leaves it out if it is empty in every row. */
export function optionalColumn(title: string): Omit<TableColumn<never>, 'cell'> {
  return { title, cut: 'end', isOptional: true };
}

/** The column of client programs. */
export const CLIENT_COLUMN: TableColumn<{ readonly client?: string | undefined }> = {
  ...optionalColumn('CLIENT'),
  cell: ({ client = '' }) => client,
};

/** The size of the recorded state in words. */
export function sizeText({ entries, storeBytes, images }: Awaited<ReturnType<typeof stateSize>>): string {
  return `${countOf(entries, 'entry')} (${byteSize(storeBytes)}), ${countOf(images.count, 'kept image')} (${byteSize(images.bytes)})`;
}

/** Additions to a table of journal entries: its headings and details. */
interface EntryFacts {
  /** The time from which ages are counted; default: the start of the command. */
  readonly nowMs?: number;
  /** The client program of each session, by session id. Sessions with an unknown program are absent. */
  readonly clients?: ReadonlyMap<string, string>;
  /** For changes, the beginnings of their ids that name them alone. */
  readonly ids?: ReadonlyMap<string, string>;
  /** The shortest unique beginning of each long session id. */
  readonly sessions?: ReadonlyMap<string, string>;
  /** The number of lines that a change added and removed, as text. */
  readonly lines?: ReadonlyMap<Entry, string>;
}

/** The columns of a table of journal entries. */
export function entryColumns(
  cli: Pick<Cli, 'cwd' | 'age' | 'terminal'>,
  { nowMs, clients, ids, sessions, lines }: EntryFacts,
): readonly TableColumn<Entry & { readonly workspace?: string }>[] {
  const { colours } = cli.terminal;
  return [
    { title: 'WHEN', cell: ({ atMs }) => cli.age(atMs, nowMs) },
    {
      title: 'WHAT',
      cut: 'end',
      paint: (cell) => paintWhat(cell, colours),
      cell: (entry) => (detailOf(entry) === undefined ? whatOf(entry) : entry.kind),
    },
    { ...PATH_COLUMN, cell: (entry) => movedPaths(cli, entry) ?? entryPath(cli, entry) },
    { title: '+/-', isOptional: true, cell: (entry) => lines?.get(entry) ?? '' },
    { ...SESSION_COLUMN, cell: ({ session }) => sessions?.get(session) ?? session },
    { title: 'CHANGE', paint: colours.yellow, cell: ({ change = '' }) => ids?.get(change) ?? change },
    { ...optionalColumn('CLIENT'), cell: ({ session }) => clients?.get(session) ?? '' },
    { ...optionalColumn('MACHINE'), cell: ({ machine, workspace }) => (workspace && machine) ?? '' },
    { title: 'WORKSPACE', cut: 'front', isOptional: true, cell: ({ workspace = '' }) => workspace },
  ];
}

/** Names who made a change: `agent-9 (codex), turn p1`. */
export function writerWords({ session, turn }: Entry, client: string | undefined): string {
  const program = client === undefined ? '' : ` (${client})`;
  return phrase(`${session}${program}${turn === undefined ? '' : `, turn ${turn}`}`);
}

/** The path of an entry as users read it; empty for an entry without one. For git's own files, the path of `.git`. */
export function entryPath(cli: Pick<Cli, 'cwd'>, entry: Pick<Entry, 'root' | 'path'>): string {
  const absolute = absolutePathOf(entry);
  if (absolute === undefined) return '';
  return shownPath(cli, isGitsOwn(absolute) ? absolute.replace(/(\/\.git)\/.*/, '$1') : absolute);
}

/** The old and the new path of a move; undefined for any other change. */
function movedPaths(cli: Pick<Cli, 'cwd'>, entry: Entry): string | undefined {
  const { action, root } = entry;
  const move =
    action === 'move' ? deltasOf(entry).find(({ movedFrom }) => movedFrom !== undefined) : undefined;
  if (move?.movedFrom === undefined) return undefined;
  const [from, to] = [move.movedFrom, move].map(({ relative: path }) => entryPath(cli, { root, path }));
  return `${from} -> ${to}`;
}

/**
 * An absolute path as users read it: relative to the current folder if that is shorter, and quoted
 * if it contains characters that a terminal cannot show.
 */
export function shownPath({ cwd }: Pick<Cli, 'cwd'>, absolute: string): string {
  // A path that is not absolute on this system comes from another machine. Show it unchanged.
  if (!isAbsolute(absolute)) return pathText(absolute);
  const short = relative(cwd, absolute) || '.';
  return pathText(short.length < absolute.length ? short : absolute);
}

function paintWhat(cell: string, colours: Colours): string {
  if (/^(refused|would have refused)/.test(cell)) return colours.dim(cell);
  if (/^(notice|bypass)/.test(cell)) return colours.yellow(cell);
  return /^(read|search|list|session)/.test(cell) ? colours.dim(cell) : colours.green(cell);
}
