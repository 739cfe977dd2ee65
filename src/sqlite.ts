export { openSqliteStore } from './store/sqlite.ts';
export type { EntryFilter, Store, Writes } from './store/store.ts';
