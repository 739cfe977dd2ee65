import { isAbsolute } from 'node:path';
import { Fault } from '../model/fault.ts';
import { MemoryStore } from './memory/memory-store.ts';
import type { OpenOptions } from './sqlite/connection.ts';
import type { Store } from './store.ts';

/** True for a store that several machines share. */
export function isFleetUrl(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url);
}

/** Opens the store a URL names: `memory:` or `sqlite:/absolute/file.db`. Anything else is a Fault CONFIG_INVALID. */
export async function openStore(url: string, options?: OpenOptions): Promise<Store> {
  if (url === 'memory:') return new MemoryStore();
  const file = /^sqlite:(?:\/\/)?(.+)$/s.exec(url)?.[1];
  if (file === undefined || !isAbsolute(file))
    throw new Fault(
      'CONFIG_INVALID',
      `unknown store ${JSON.stringify(url)}: use memory:, sqlite: with an absolute path, as in sqlite:/home/me/state.db, or postgres://user@host/database`,
    );
  // Loaded on demand: a store in memory must not need a database driver.
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return openSqliteStore(file, options);
}
