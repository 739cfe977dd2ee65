import { hash } from 'node:crypto';
import { fromColumn } from '../entry-columns.ts';
import type { ChainLink } from '../store.ts';
import type { Connection } from './connection.ts';

/** Separators between the rows of a page and the fields of a row. A value that contains one is not confirmed here. */
const [ROW, FIELD, NONE] = ['\u001e', '\u001f', '\u001d'];
const FIELDS = 9;
const AT_MOST = 2000;

/** True for rows with the types that we write: a text stored as a blob reads alike but is not found by filters. */
const TYPED = [
  "typeof(at_ms) = 'integer'",
  ...['kind', 'session', 'root', 'rest', 'hash'].map((name) => `typeof(${name}) = 'text'`),
  ...['path', 'change'].map((name) => `typeof(${name}) in ('text', 'null')`),
].join(' and ');

/** One text for many rows: a value of its own for every column costs more than all the rest of the check. */
const SELECT_PAGE =
  `select sum(${TYPED}) as typed, group_concat(${[
    'seq',
    'at_ms',
    'kind',
    'session',
    'root',
    `coalesce(path, '${NONE}')`,
    `coalesce(change, '${NONE}')`,
    'rest',
    'hash',
  ].join(` || '${FIELD}' || `)}, '${ROW}') as page ` +
  'from (select * from entries where seq > ? and seq <= ? order by seq)';

/**
 * Confirms that a page of entries follows `previous`, and returns the page's last link. Undefined if it cannot tell:
 * then the caller checks the entries one by one. It hashes the stored text and builds no entries, which takes a quarter
 * of the time.
 */
export function confirmPage(
  db: Pick<Connection, 'sql'>,
  previous: ChainLink,
  throughSeq: number,
): ChainLink | undefined {
  const last = Math.min(throughSeq, previous.seq + AT_MOST);
  // The cast is safe: an aggregate gives one row. Without entries, both values are null.
  const { typed, page } = db.sql(SELECT_PAGE).get(previous.seq, last) as {
    typed: number | null;
    page: string | null;
  };
  const count = last - previous.seq;
  if (page === null || typed !== count) return undefined;
  const rows = page.split(ROW);
  if (rows.length !== count) return undefined;
  let link = previous;
  for (const row of rows) {
    const next = confirmRow(row, link);
    if (next === undefined) return undefined;
    link = next;
  }
  return link;
}

function confirmRow(row: string, previous: ChainLink): ChainLink | undefined {
  const fields = row.split(FIELD);
  const [seq, atMs, kind, session, root, path, change, rest, claimed] = fields;
  const isWhole = fields.length === FIELDS && rest !== undefined && claimed !== undefined;
  if (!isWhole || seq !== String(previous.seq + 1)) return undefined;
  const columns: (readonly [string, string])[] = [['atMs', atMs ?? '']];
  const add = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== NONE) columns.push([name, JSON.stringify(fromColumn(value))]);
  };
  // In alphabetical order, as in the canonical text.
  add('change', change);
  add('kind', kind);
  add('path', path);
  add('root', root);
  add('session', session);
  const text = `${previous.hash}${merged(columns, rest)}${seq}`;
  return hash('sha256', text) === claimed ? { seq: previous.seq + 1, hash: claimed } : undefined;
}

/**
 * The canonical JSON of an entry: its columns put between the members of `rest`, which is canonical itself. A text that
 * is not canonical gives another text, so that its hash differs.
 */
function merged(columns: readonly (readonly [string, string])[], rest: string): string {
  let text = '';
  let next = 0;
  for (let at = 1; at < rest.length - 1; ) {
    const nameEnd = rest.indexOf('"', at + 1);
    const valueEnd = endOfValue(rest, nameEnd + 2);
    if (nameEnd < 0 || valueEnd <= at) return '';
    const name = rest.slice(at + 1, nameEnd);
    for (let column = columns[next]; column !== undefined && column[0] < name; column = columns[next]) {
      text += `,"${column[0]}":${column[1]}`;
      next += 1;
    }
    text += `,${rest.slice(at, valueEnd)}`;
    at = valueEnd + 1;
  }
  for (const [name, value] of columns.slice(next)) text += `,"${name}":${value}`;
  return `{${text.slice(1)}}`;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The position after the JSON value at `from`. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1;
    else if (depth === 0 && (code === COMMA || code === CLOSE_OBJECT)) return at;
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
  }
  return text.length;
}

/** The position of the quote that ends the string at `from`. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
