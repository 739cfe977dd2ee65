import { isAbsolute, relative } from 'node:path';
import type { Entry } from '../model/entry.ts';
import { absolutePathOf, detailOf, whatOf } from '../records/entry-words.ts';
import type { FleetEntry, Records } from '../records/records.ts';
import type { PlacedSession } from '../records/session-views.ts';
import { pathText, phrase } from '../report/bounded.ts';
import type { Colours, Column } from '../report/human.ts';
import type { Times } from './words.ts';

/** The folder and the time relative to which an entry is shown. */
interface Viewpoint {
  readonly cwd: string;
  readonly times: Times;
  /**
   * The time from which ages are counted; default: the time in `times`. A command that keeps
   * running sets it to the current time before each entry.
   */
  readonly nowMs?: number;
  /** The client program of each session, by session id. Sessions with an unknown program are absent. */
  readonly clients?: ReadonlyMap<string, string>;
  /** For changes, the beginnings of their ids that name them alone. */
  readonly ids?: ReadonlyMap<string, string>;
  /** The number of lines that a change added and removed, as text. */
  readonly lines?: string;
}

/** The column of session ids. One very long id does not widen the other rows. */
export const SESSION_COLUMN: Column = { title: 'SESSION', cut: 'end', padAtMost: 40 };

/** The columns of a table of entries. */
export function entryColumns(colours: Colours, { fleet }: Pick<Records, 'fleet'>): readonly Column[] {
  const columns: readonly Column[] = [
    { title: 'WHEN' },
    { title: 'WHAT', cut: 'end', paint: (cell) => paintWhat(cell, colours) },
    { title: 'PATH', cut: 'front' },
    { title: '+/-', isOptional: true },
    SESSION_COLUMN,
    { title: 'CHANGE', paint: colours.yellow },
    { title: 'CLIENT', cut: 'end', isOptional: true },
  ];
  return fleet === undefined
    ? columns
    : [...columns, { title: 'MACHINE', cut: 'end' }, { title: 'WORKSPACE', cut: 'front' }];
}

/** The table cells of one journal entry. */
export function entryRow(entry: FleetEntry, from: Viewpoint): string[] {
  const row = [
    from.times.shortAge(entry.atMs, from.nowMs),
    detailOf(entry) === undefined ? whatOf(entry) : entry.kind,
    movedPaths(entry, from.cwd) ?? pathCell(entry, from.cwd),
    from.lines ?? '',
    entry.session,
    from.ids?.get(entry.change ?? '') ?? entry.change ?? '',
    from.clients?.get(entry.session) ?? '',
  ];
  return entry.workspace === undefined ? row : [...row, entry.machine ?? '', entry.workspace];
}

/** The first columns of a table of sessions, with their cells. Columns that would be empty are left out. */
export function sessionTable(
  sessions: readonly PlacedSession[],
  cwd: string,
): { readonly columns: readonly Column[]; cells(session: PlacedSession): string[] } {
  const all: readonly { readonly column: Column; cell(session: PlacedSession): string }[] = [
    { column: SESSION_COLUMN, cell: ({ id }) => id },
    { column: { title: 'CLIENT', cut: 'end' }, cell: ({ client = '' }) => client },
    { column: { title: 'TURN', cut: 'end' }, cell: ({ turn = '' }) => turn },
    {
      column: { title: 'WORKSPACE', cut: 'front' },
      cell: ({ root, workspace }) => workspace ?? pathText(typeable(root, cwd)),
    },
    { column: { title: 'MACHINE', cut: 'end' }, cell: ({ machine = '' }) => machine },
  ];
  const filled = all.filter(({ cell }) => sessions.some((session) => cell(session) !== ''));
  return {
    columns: filled.map(({ column }) => column),
    cells: (session) => filled.map(({ cell }) => cell(session)),
  };
}

/** Names who made a change: `agent-9 (codex), turn p1`. */
export function writerWords({ session, turn }: Entry, client: string | undefined): string {
  const program = client === undefined ? '' : ` (${client})`;
  return phrase(`${session}${program}${turn === undefined ? '' : `, turn ${turn}`}`);
}

/** The path of an entry as it can be typed here: relative if that is shorter, else in full. */
export function entryPath(entry: Pick<Entry, 'root' | 'path'>, cwd: string): string {
  const absolute = absolutePathOf(entry);
  return absolute === undefined ? '' : typeable(absolute, cwd);
}

/** The old and the new path of a move; undefined for any other change. */
function movedPaths({ action, root, effects = [] }: Entry, cwd: string): string | undefined {
  const source = action === 'move' ? effects.find(({ movedTo }) => movedTo !== undefined) : undefined;
  const target = effects.find(({ key }) => key === source?.movedTo);
  if (source === undefined || target === undefined) return undefined;
  const [from, to] = [source, target].map(({ relative: path }) => pathCell({ root, path }, cwd));
  return `${from} -> ${to}`;
}

/** The path of an entry for a table: quoted if it contains characters that a table cannot show. */
function pathCell(entry: Pick<Entry, 'root' | 'path'>, cwd: string): string {
  const path = entryPath(entry, cwd);
  return path === '' ? '' : pathText(path);
}

export function typeable(absolute: string, cwd: string): string {
  // A path that is not absolute on this system comes from another machine. Show it unchanged.
  if (!isAbsolute(absolute)) return absolute;
  const short = relative(cwd, absolute);
  if (short === '') return '.';
  return short.length < absolute.length ? short : absolute;
}

function paintWhat(cell: string, colours: Colours): string {
  if (/^(refused|would have refused)/.test(cell)) return colours.dim(cell);
  if (/^(notice|bypass)/.test(cell)) return colours.yellow(cell);
  return /^(read|search|list|session)/.test(cell) ? colours.dim(cell) : colours.green(cell);
}
