export { openSqliteStore } from './store/sqlite/sqlite-store.ts';
export type { EntryFilter, Store, Writes } from './store/store.ts';
