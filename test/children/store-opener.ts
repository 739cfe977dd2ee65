// Opens a database as a server does, and ends at once.
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const { file } = JSON.parse(process.argv[2] ?? '') as { readonly file: string };
await openSqliteStore(file, { damaged: 'set-aside' });
process.exit(0);
