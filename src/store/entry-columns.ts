import { randomBytes } from 'node:crypto';
import { endsOf } from '../model/delta.ts';
import {
  deltasOf,
  type Entry,
  type EntryKind,
  type EntryOf,
  type NewEntry,
  type PendingChange,
} from '../model/entry.ts';
import type { Fault } from '../model/fault.ts';
import type { Stamp } from '../model/fingerprint.ts';
import { isBelow, isWithin } from '../model/path.ts';
import { isRecord } from '../model/record.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Mark, View } from '../model/view.ts';
import { linkText } from './chain.ts';
import type { BrokenLink, ChainLink, PendingFilter } from './store.ts';

/**
 * Kinds of entries for which the table `touches` lists every file, so that a search by file finds
 * them.
 */
export const INDEXED: ReadonlySet<Entry['kind']> = new Set(['change', 'grant']);

/**
 * The row of an entry: the whole entry as canonical JSON, and again in columns the fields that
 * filters use.
 */
interface EntryRow {
  readonly seq: number;
  readonly at_ms: number;
  readonly kind: Entry['kind'];
  readonly session: string;
  readonly root: string;
  readonly path: string | null;
  readonly change: string | null;
  readonly entry: string;
  readonly hash: string;
}

/** The names of the columns of an entry, in the order of {@link filterColumns}, then its text and its hash. */
export const ENTRY_COLUMNS: string = 'at_ms, kind, session, root, path, change, entry, hash';

/** The columns of an entry that filters use. */
export function filterColumns({
  atMs,
  kind,
  session,
  root,
  path,
  change,
}: NewEntry): (string | number | null)[] {
  return [
    atMs,
    kind,
    column(session),
    column(root),
    path === undefined ? null : column(path),
    change === undefined ? null : column(change),
  ];
}

/**
 * The entry in a row with the columns of {@link EntryRow}. A row that was tampered with is returned
 * as far as it can be parsed, because the check of the hash chain reports it. `K`: the kinds that the
 * query selects.
 */
export function entryFrom<K extends EntryKind = EntryKind>(row: unknown): EntryOf<K> {
  // The cast is safe: the select gives this shape, and the store wrote the columns.
  const { seq, at_ms: atMs, kind, session, root, path, change, entry: text, hash } = row as EntryRow;
  // The fields are assigned one by one: a spread of the parsed object would copy it and take twice
  // as long.
  const entry = membersOf(text);
  entry['kind'] = kind;
  entry['atMs'] = atMs;
  entry['session'] = fromColumn(session);
  entry['root'] = fromColumn(root);
  if (path !== null) entry['path'] = fromColumn(path);
  if (change !== null) entry['change'] = fromColumn(change);
  entry['seq'] = seq;
  entry['hash'] = hash;
  if (kind === 'change' && !hasSoundDeltas(entry['deltas'])) entry['deltas'] = [];
  return entry as unknown as EntryOf<K>;
}

/**
 * Checks that rows, oldest first, continue a hash chain after `previous`. `known`: hashes of
 * entries, by number, that are recorded elsewhere. Returns the last link, or the first entry that
 * is not as it was written.
 */
export function checkedLinks(
  rows: readonly unknown[],
  previous: ChainLink,
  known: ReadonlyMap<number, string> = new Map(),
): ChainLink | BrokenLink {
  let last = previous;
  // The cast is safe: the select gives this shape.
  for (const row of rows as readonly EntryRow[]) {
    const { seq, entry, hash } = row;
    if (seq !== last.seq + 1) return { seq: last.seq + 1, problem: 'removed' };
    if (linkText(last, entry).hash !== hash || !hasOwnColumns(row) || (known.get(seq) ?? hash) !== hash)
      return { seq, problem: 'altered' };
    last = { seq, hash };
  }
  return last;
}

/** True if the columns of a row say what its text says. */
function hasOwnColumns(row: EntryRow): boolean {
  // The cast is safe: the hash of the text has been compared.
  const columns = filterColumns(JSON.parse(row.entry) as NewEntry);
  const stored = [row.at_ms, row.kind, row.session, row.root, row.path, row.change];
  return columns.every((value, index) => value === stored[index]);
}

/** False if a tampered row has deltas that no code could use. */
function hasSoundDeltas(deltas: unknown): boolean {
  return Array.isArray(deltas) && deltas.every(isSoundDelta);
}

function isSoundDelta(value: unknown): boolean {
  if (!isRecord(value) || typeof value['key'] !== 'string') return false;
  const from = value['movedFrom'];
  if (from !== undefined && !(isRecord(from) && typeof from['key'] === 'string')) return false;
  return isRecord(value['before']) && isRecord(value['after']);
}

/** The members of a JSON object. None if the text is damaged: one bad entry must not hide all others. */
function membersOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    // The cast is safe: an object can be read as a record of unknown values.
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Not JSON: the text is damaged.
  }
  return {};
}

/** Parses the JSON of a session. Undefined if it is damaged: the session then counts as unknown. */
export function sessionFrom(text: string): SessionRecord | undefined {
  const members = membersOf(text);
  // The casts are safe, here and below: `record` wrote the text.
  return typeof members['id'] === 'string' ? (members as unknown as SessionRecord) : undefined;
}

/**
 * Parses the JSON of an announced change. Throws the Fault `damaged` if that is impossible: without
 * the record, a change whose process died cannot be completed or reverted.
 */
export function pendingFrom(text: string, damaged: () => Fault): PendingChange {
  const members = membersOf(text);
  const { change, owner, entry } = members;
  if (typeof change !== 'string' || typeof owner !== 'string' || !isRecord(entry)) throw damaged();
  if (typeof entry['root'] !== 'string' || !hasSoundDeltas(entry['deltas'])) throw damaged();
  return members as unknown as PendingChange;
}

/**
 * The keys that the table `touches` stores for an entry. For a change or a grant: all its files.
 * For other entries: only keys that differ from root and path joined, so that a read needs no
 * second row.
 */
export function touchedKeys(entry: NewEntry): readonly string[] {
  const plain = plainKey(entry);
  const isFound = plain !== undefined && column(plain) === plain && entry.path !== '';
  if (!isFound || INDEXED.has(entry.kind)) return [...entryKeys(entry)].map(column);
  return entry.key === undefined || entry.key === plain ? [] : [column(entry.key)];
}

const ESCAPED = '\u0001';

/**
 * Encodes a string for a text column. Escapes only strings that the database could not store
 * exactly.
 */
export function column(text: string): string {
  return isFragile(text) || text.startsWith(ESCAPED) ? ESCAPED + JSON.stringify(text) : text;
}

/**
 * True if a database could not store the text exactly. Some drivers end a text at NUL. A lone
 * surrogate has no UTF-8 form and would become another character.
 */
function isFragile(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}

/** Decodes a string that {@link column} encoded. A damaged text is returned as it is. */
export function fromColumn(text: string): string {
  if (!text.startsWith(ESCAPED)) return text;
  try {
    return String(JSON.parse(text.slice(1)));
  } catch {
    return text;
  }
}

/** The keys of all files that an entry concerns: those its deltas touched, and its own. */
export function entryKeys(entry: NewEntry): ReadonlySet<string> {
  const keys = new Set(deltasOf(entry).flatMap(endsOf));
  for (const about of [entry.key, plainKey(entry)]) if (about !== undefined) keys.add(about);
  return keys;
}

/** Root and path joined. On a case-sensitive file system, this equals the file's key. */
export function plainKey(entry: Pick<NewEntry, 'root' | 'path'>): string | undefined {
  if (entry.path === undefined) return undefined;
  if (entry.path === '') return entry.root;
  return entry.root.endsWith('/') ? entry.root + entry.path : `${entry.root}/${entry.path}`;
}

/** The folder itself and all its parents, up to the root of the file system. */
export function ancestorsOf(folder: string): string[] {
  const parts = folder.split('/');
  const found = parts.map((_, i) => parts.slice(0, i + 1).join('/') || '/');
  // Remove duplicates: `/` splits into two empty parts, and both give `/`.
  return [...new Set(found)];
}

/** True if a pending change matches the filter. For stores that filter in this process. */
export function matchesPending(pending: PendingChange, { change, owner, keys }: PendingFilter): boolean {
  if (change !== undefined && pending.change !== change) return false;
  if (owner !== undefined && pending.owner !== owner) return false;
  if (keys === undefined) return true;
  return concernedKeys(pending).some((one) => keys.some((other) => overlaps(one, other)));
}

/**
 * The keys of the files that a pending change concerns. A process that wants to write one of these
 * files must first check whether the change was completed. If the change holds no lock, these are
 * the files that it will write; otherwise they are the locked files.
 */
export function concernedKeys({ locked = [], host, entry }: PendingChange): readonly string[] {
  return host?.hold === 'none' ? entry.deltas.flatMap(endsOf) : locked;
}

/** True if the paths are equal or one is inside the other. */
function overlaps(one: string, other: string): boolean {
  return isWithin(one, other) || isBelow(other, one);
}

/**
 * A view as a JSON object. The file's key has its own column. A stamp is five decimal texts, because
 * JSON numbers would lose their last digits. `since` means something only to the process `by`.
 */
type Row = Omit<Sighting, 'key' | 'fingerprint' | 'stamp' | 'totalLines'> &
  Partial<Pick<Sighting, 'fingerprint' | 'totalLines'>> & {
    readonly stamp?: readonly [string, string, string, string, string];
    readonly since?: number;
    readonly by?: string;
  };

/** Names this process in views, so that it recognises its own moments. */
const PROCESS = randomBytes(6).toString('base64url');

/** Serialises a view without the file's key. */
export function viewRowText({ sighting, since }: View): string {
  const { key: _, stamp, ...rest } = sighting;
  const row: { -readonly [Field in keyof Row]: Row[Field] } = rest;
  if (stamp !== undefined)
    row.stamp = [`${stamp.dev}`, `${stamp.ino}`, `${stamp.size}`, `${stamp.mtimeNs}`, `${stamp.ctimeNs}`];
  if (since !== undefined) {
    row.since = since;
    row.by = PROCESS;
  }
  return JSON.stringify(row);
}

/** Parses the text that {@link viewRowText} wrote. Undefined if it is damaged: the view then does not count. */
export function viewFrom(key: string, text: string, n: number): View | undefined {
  const row = membersOf(text);
  if (!isRecord(row['coverage']) || !isRecord(row['flags']) || typeof row['atMs'] !== 'number')
    return undefined;
  // The cast is safe: `viewRowText` wrote a text with these members.
  const { stamp, since, by, fingerprint, totalLines, ...rest } = row as unknown as Row;
  try {
    const sighting = { key, fingerprint, stamp: stamp && stampFrom(stamp), totalLines, ...rest };
    return since === undefined || by !== PROCESS ? { n, sighting } : { n, sighting, since };
  } catch {
    return undefined;
  }
}

function stampFrom([dev, ino, size, mtimeNs, ctimeNs]: NonNullable<Row['stamp']>): Stamp {
  return {
    dev: BigInt(dev),
    ino: BigInt(ino),
    size: BigInt(size),
    mtimeNs: BigInt(mtimeNs),
    ctimeNs: BigInt(ctimeNs),
  };
}

const EVERYTHING_LOST: Omit<Mark, 'n'> = { lost: 'compacted', keeps: 'nothing' };

/** The loss in a row. A damaged row counts as the loss of everything. */
export function markFrom(text: string): Omit<Mark, 'n'> {
  try {
    // The cast is safe: a store wrote the text.
    return JSON.parse(text) as Omit<Mark, 'n'>;
  } catch {
    return EVERYTHING_LOST;
  }
}
