import { copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type Delta, joinMoves } from '../../model/delta.ts';
import { Fault, isTaken, unlessErrno, unlessMissing } from '../../model/fault.ts';
import { isRecord } from '../../model/record.ts';
import { isDamage, isOlder, openDatabase, type SqliteDatabase, type SqliteLoader } from './driver.ts';
import type { Users } from './users.ts';

/**
 * The files of a database, in the order of renaming. The main file is last: if the renaming is
 * interrupted, the next opening finds it damaged and starts over.
 */
const PARTS = ['-wal', '-shm', '.head', ''] as const;

interface OpenedDatabase {
  readonly db: SqliteDatabase;
  /** Set if this database has replaced another one: what users must learn of that. */
  readonly warning?: string;
}

interface SoundOptions {
  readonly users: Users;
  readonly damaged: 'fail' | 'set-aside';
}

/**
 * Opens a database. If no other connection uses it, replaces one of an older version, and a damaged
 * one if the options allow it.
 */
export async function openSound(
  file: string,
  load: SqliteLoader,
  { users, damaged }: SoundOptions,
): Promise<OpenedDatabase> {
  const isReplaceable = (error: unknown): boolean =>
    isOlder(error) || (damaged === 'set-aside' && isDamage(error));
  try {
    return { db: openWhole(file, load) };
  } catch (error) {
    if (!isReplaceable(error)) throw error;
    const replaced = await users.alone(() => replace(file, load));
    return replaced ?? { db: openReplaced(file, load) };
  }
}

/** Opens a database that another process uses. That process may have replaced it a moment ago. */
function openReplaced(file: string, load: SqliteLoader): SqliteDatabase {
  try {
    return openWhole(file, load);
  } catch (error) {
    if (!isDamage(error) && !isOlder(error)) throw error;
    const why = isOlder(error) ? 'an older Lookfirst wrote it' : 'it is damaged';
    throw new Fault(
      'STORE_FAILED',
      `the state database ${file} failed: ${why} and it cannot be set aside while another process uses it; ` +
        'end all other Lookfirst processes, then restart Lookfirst',
      { cause: error, path: file, reason: isOlder(error) ? 'older' : 'damaged' },
    );
  }
}

/**
 * Opens a database. Opening reads only the beginning of the file. So if SQLite found damage while
 * the database was in use, checks the whole file.
 */
function openWhole(file: string, load: SqliteLoader): SqliteDatabase {
  const db = openDatabase(load, file);
  if (!existsSync(markOf(file))) return db;
  try {
    const found = db.prepare('pragma integrity_check(1)').get() as { readonly integrity_check: string };
    if (found.integrity_check !== 'ok') throw new Error(`malformed: ${found.integrity_check}`);
    dropMark(file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Notes that SQLite has found damage in a database, so that the next opening checks the whole file. */
export function noteDamage(file: string): void {
  unlessErrno(() => writeFileSync(markOf(file), '', { mode: 0o600 }));
}

function dropMark(file: string): void {
  unlessErrno(() => rmSync(markOf(file), { force: true }));
}

function markOf(file: string): string {
  return `${file}.suspect`;
}

/** Replaces a database. Checks it again first, because another process may have replaced it a moment ago. */
function replace(file: string, load: SqliteLoader): OpenedDatabase {
  try {
    return { db: openWhole(file, load) };
  } catch (error) {
    if (isOlder(error)) return replaceOlder(file, load);
    if (!isDamage(error)) throw error;
    const aside = setAside(file);
    dropMark(file);
    const warning =
      `the state database was damaged. It was moved to ${aside} and a new one was begun: ` +
      'every file counts as unread, and earlier changes can no longer be undone';
    return { db: openDatabase(load, file), warning };
  }
}

/**
 * Replaces a database of an older version. The new one gets the changes that are not finished, with
 * the contents that they need, so that the next recovery finishes them. The new database is complete
 * before it takes the name of the old one. So a process that is killed here leaves one of the two
 * under that name.
 */
function replaceOlder(file: string, load: SqliteLoader): OpenedDatabase {
  mergeLog(file, load);
  const draft = `${file}.draft`;
  for (const part of ['', '-wal', '-shm', '-journal']) rmSync(`${draft}${part}`, { force: true });
  fillDraft(draft, file, load);
  const aside = `${file}.older-${wordFor(statSync(file).mtime)}`;
  keepAs(file, aside);
  unlessMissing(() => renameSync(`${file}.head`, `${aside}.head`));
  for (const part of ['-wal', '-shm']) rmSync(`${file}${part}`, { force: true });
  renameSync(draft, file);
  const warning =
    `the state database was written by an older Lookfirst. It was moved to ${aside} and a new one was begun: ` +
    'every file counts as unread, and earlier changes can no longer be undone';
  return { db: openDatabase(load, file), warning };
}

/** Moves everything from the write-ahead log to the database file, which then needs no other file. */
function mergeLog(file: string, load: SqliteLoader): void {
  const db = load(file);
  try {
    const { busy } = db.prepare('pragma wal_checkpoint(truncate)').get() as { busy: number };
    if (busy !== 0)
      throw new Fault('STORE_FAILED', `the state database ${file} is in use: try again`, { path: file });
  } finally {
    db.close();
  }
}

/** Makes a new database with the unfinished changes of an older one. */
function fillDraft(draft: string, older: string, load: SqliteLoader): void {
  const db = openDatabase(load, draft);
  try {
    db.exec('pragma journal_mode = delete');
    db.prepare('attach database ? as older').run(older);
    const has = `select count(*) as n from older.sqlite_master where name in ('pending', 'blobs')`;
    if ((db.prepare(has).get() as { n: number }).n !== 2) return;
    db.exec(`begin; insert into blobs select * from older.blobs b
      where exists (select 1 from older.pending where instr(announced, b.sha256) > 0)`);
    const rows = db.prepare('select change, announced from older.pending').all();
    const insert = db.prepare('insert into pending values (?, ?)');
    // The cast is safe: the select gives this shape.
    for (const { change, announced } of rows as { change: string; announced: string }[])
      insert.run(change, inDeltas(announced));
    db.exec('commit');
  } finally {
    db.close();
  }
}

/** An effect of a change in older databases. A move had two: `movedTo` names the other one. */
type OldEffect = Delta & { readonly movedTo?: string };

/** Converts an announced change of an older database, which has effects in place of deltas. */
function inDeltas(announced: string): string {
  const pending: unknown = JSON.parse(announced);
  const entry = isRecord(pending) ? pending['entry'] : undefined;
  if (!isRecord(pending) || !isRecord(entry) || entry['deltas'] !== undefined) return announced;
  const { effects, ...rest } = entry;
  // The cast is safe: older programs wrote this shape, and recovery checks the result.
  const old = Array.isArray(effects) ? (effects as readonly OldEffect[]) : [];
  const halves = old.map(({ movedTo: _, ...effect }) => {
    const source = old.find(({ movedTo }) => movedTo === effect.key);
    return source === undefined
      ? effect
      : { ...effect, movedFrom: { key: source.key, relative: source.relative } };
  });
  return JSON.stringify({ ...pending, entry: { ...rest, deltas: joinMoves(halves) } });
}

/** Gives a file a second name. A killed process may have done so before. */
function keepAs(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch (error) {
    const isSame = isTaken(error) && statSync(name).ino === statSync(file).ino;
    // File systems without hard links: a copy, also in place of one that a killed process began.
    if (!isSame) copyFileSync(file, name);
  }
}

/** Renames a damaged database and its side files, and returns the database's new name. */
function setAside(file: string): string {
  const aside = `${file}.damaged-${wordFor(new Date())}`;
  for (const part of PARTS) {
    unlessMissing(() => renameSync(`${file}${part}`, `${aside}${part}`));
  }
  return aside;
}

/** A time as a word for file names. */
function wordFor(time: Date): string {
  return time.toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
}

/** The warning that the journal is shorter than the file beside the database says. */
export function lossWarning(file: string, { kept, written }: { kept: number; written: number }): string {
  if (kept === 0)
    return (
      `the state database ${file} was deleted, and a new one was begun: its ${written} journal entries are lost, ` +
      'every file counts as unread, and earlier changes can no longer be undone'
    );
  return (
    `the state database ${file} has lost the journal entries ${kept + 1} to ${written}: ` +
    'an older copy took its place, or the computer lost power'
  );
}

/** The fault for an announced change whose record in the database cannot be parsed. */
export function damagedPending(file: string, change: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the state database ${file} failed: its record of the unfinished change ${change} is damaged; ` +
      `end all Lookfirst processes, then move ${file}* to another folder ` +
      '(every file then counts as unread, and earlier changes can no longer be undone)',
    { path: file, reason: 'damaged' },
  );
}
