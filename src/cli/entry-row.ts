import { isAbsolute, join, relative } from 'node:path';
import type { Effect, Entry } from '../model/entry.ts';
import type { Colours, Column } from '../report/human.ts';
import { shortTime } from '../report/relative-time.ts';

/** Where and when an entry is looked at from. */
export interface Viewpoint {
  readonly cwd: string;
  readonly nowMs: number;
}

/** The columns of a table of entries. */
export function entryColumns(colours: Colours): readonly Column[] {
  return [
    { title: 'WHEN' },
    { title: 'WHAT', paint: (cell) => paintWhat(cell, colours) },
    { title: 'PATH', cut: 'front' },
    { title: 'SESSION', cut: 'end' },
    { title: 'CHANGE', paint: colours.yellow },
  ];
}

/** The cells of one entry. */
export function entryRow(entry: Entry, from: Viewpoint): string[] {
  return [
    shortTime(entry.atMs, from.nowMs),
    detailOf(entry) === undefined ? whatOf(entry) : entry.kind,
    shownPath(entry, from.cwd),
    entry.session,
    entry.change ?? '',
  ];
}

/** What takes more than a few words to tell, for a line of its own. */
export function detailOf({ kind, text }: Entry): string | undefined {
  return kind === 'notice' || kind === 'bypass' ? text : undefined;
}

/** An entry for programs: as it is in the journal, and its time for people. */
export function entryJson(entry: Entry): string {
  const { seq, atMs, kind, session, root, ...rest } = entry;
  return JSON.stringify({ seq, at: new Date(atMs).toISOString(), atMs, kind, session, root, ...rest });
}

/** What an entry tells, in a few words. */
export function whatOf(entry: Entry): string {
  switch (entry.kind) {
    case 'read':
      return [entry.action ?? 'read', entry.lines].filter((word) => word !== undefined).join(' ');
    case 'change':
      return changeWords(entry);
    case 'refusal':
      return `refused ${entry.action ?? ''} ${entry.code ?? ''}`;
    case 'notice':
    case 'bypass':
      return `${entry.kind}: ${entry.text ?? ''}`;
    case 'session':
      return `session ${entry.text ?? ''}`;
    default:
      return entry.kind satisfies never;
  }
}

/** A path as it can be typed here: relative if it lies below, else in full. */
export function shownPath(entry: Pick<Entry, 'root' | 'path'>, cwd: string): string {
  if (entry.path === undefined) return '';
  return typeable(isAbsolute(entry.path) ? entry.path : join(entry.root, entry.path), cwd);
}

export function typeable(absolute: string, cwd: string): string {
  const short = relative(cwd, absolute);
  if (short === '') return '.';
  return short.length < absolute.length ? short : absolute;
}

function changeWords(entry: Entry): string {
  // Folders made on the way, or gone with what was in them, are not what people count.
  const isFile = ({ before, after }: Effect): boolean =>
    ![before, after].some((side) => side.kind === 'directory');
  const files = new Set(entry.effects?.filter(isFile).map((effect) => effect.key)).size;
  const many = files > 1 && entry.action !== 'move' ? ` (${files} files)` : '';
  const recovered = entry.recovered === true ? ', recovered' : '';
  return `${entry.action ?? 'change'}${many}${recovered}`;
}

function paintWhat(cell: string, colours: Colours): string {
  if (cell.startsWith('refused')) return colours.red(cell);
  if (/^(notice|bypass)/.test(cell)) return colours.yellow(cell);
  return /^(read|search|list|session)/.test(cell) ? colours.dim(cell) : colours.green(cell);
}
