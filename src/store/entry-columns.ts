import type { Entry, NewEntry } from '../model/entry.ts';
import { canonicalJson } from './chain.ts';
import { entryKeys, plainKey } from './entry-match.ts';
import type { ChainLink } from './store.ts';

const NONE: readonly string[] = [];
/** Entries of these kinds can always be found by their keys through `touches`. */
export const INDEXED: ReadonlySet<Entry['kind']> = new Set(['change', 'grant']);

/**
 * The columns of an entry: the fields used by filters. All other fields are JSON in `rest`; no field is stored twice.
 */
interface EntryRow {
  readonly seq: number;
  readonly at_ms: number;
  readonly kind: Entry['kind'];
  readonly session: string;
  readonly root: string;
  readonly path: string | null;
  readonly change: string | null;
  readonly rest: string;
  readonly hash: string;
}

/** The values of one row, in the order of {@link EntryRow}. */
export function entryValues(entry: NewEntry, { seq, hash }: ChainLink): (string | number | null)[] {
  const { atMs, kind, session, root, path, change, ...rest } = entry;
  return [
    seq,
    atMs,
    kind,
    column(session),
    column(root),
    path === undefined ? null : column(path),
    change === undefined ? null : column(change),
    // Canonical, so that a check of the chain needs no parsing.
    canonicalJson(rest),
    hash,
  ];
}

/**
 * The entry in a row with the columns of {@link EntryRow}. A row that was tampered with is returned as it is: the chain
 * check detects it.
 */
export function entryFrom(row: unknown): Entry {
  // The cast is safe: the select gives this shape, and entryValues wrote the columns.
  const { seq, at_ms: atMs, kind, session, root, path, change, rest, hash } = row as EntryRow;
  // Assigned one by one: a spread of the parsed object copies it and takes twice as long.
  const entry = JSON.parse(rest) as Record<string, unknown>;
  entry['kind'] = kind;
  entry['atMs'] = atMs;
  entry['session'] = fromColumn(session);
  entry['root'] = fromColumn(root);
  if (path !== null) entry['path'] = fromColumn(path);
  if (change !== null) entry['change'] = fromColumn(change);
  entry['seq'] = seq;
  entry['hash'] = hash;
  return entry as unknown as Entry;
}

/**
 * The keys that `touches` stores for an entry: all keys that a change touched. For other entries, only keys that differ
 * from root and path, so that recording a read writes no second row.
 */
export function touchedKeys(entry: NewEntry): readonly string[] {
  const plain = plainKey(entry);
  if (isPlainRead(entry, plain)) return NONE;
  const skipped =
    !INDEXED.has(entry.kind) && plain !== undefined && column(plain) === plain ? plain : undefined;
  return [...entryKeys(entry)].filter((key) => key !== skipped || entry.path === '').map(column);
}

/** True for nearly every entry: it concerns one file, whose key follows from its row. */
function isPlainRead({ kind, effects, key, path }: NewEntry, plain: string | undefined): boolean {
  const alone = !INDEXED.has(kind) && effects === undefined && (key === undefined || key === plain);
  return alone && plain !== undefined && path !== '' && column(plain) === plain;
}

const ESCAPED = '\u0001';

/**
 * Encodes a string for a text column, so that it can be stored and compared there. Only strings that SQLite would not
 * return unchanged are escaped.
 */
export function column(text: string): string {
  return isFragile(text) || text.startsWith(ESCAPED) ? ESCAPED + JSON.stringify(text) : text;
}

/** Some drivers end a text at NUL. A lone surrogate has no UTF-8 form and would become another character. */
function isFragile(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}

/** Decodes a string that {@link column} encoded. */
export function fromColumn(text: string): string {
  return text.startsWith(ESCAPED) ? String(JSON.parse(text.slice(1))) : text;
}
