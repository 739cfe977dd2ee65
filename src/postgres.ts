export { openPostgresStore } from './store/postgres/open.ts';
export type { EntryFilter, Store, Writes } from './store/store.ts';
