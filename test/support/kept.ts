import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loadSqlite, type SqliteDatabase } from '../../src/store/sqlite/driver.ts';

/** Runs `work` with the database of a state folder, from outside of Lookfirst. */
export async function withDatabase<T>(home: string, work: (db: SqliteDatabase) => T): Promise<T> {
  const db = (await loadSqlite())(join(home, 'lookfirst.db'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/**
 * The hashes of all contents that a state folder keeps, as rows or as files. `needed`: without those
 * that were only read.
 */
export async function keptHashes(home: string, which: 'all' | 'needed' = 'all'): Promise<readonly string[]> {
  const folder = join(home, 'blobs');
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const where = which === 'all' ? '' : ' where kept = 1';
  const rows = await withDatabase(home, (db) => db.prepare(`select sha256 from blobs${where}`).all());
  return [...(rows as { sha256: string }[]).map(({ sha256 }) => sha256), ...files];
}

/** Removes all kept contents from a state folder, from outside of Lookfirst. */
export async function loseBytes(home: string): Promise<void> {
  await withDatabase(home, (db) => db.exec('delete from blobs'));
  rmSync(join(home, 'blobs'), { recursive: true, force: true });
}
