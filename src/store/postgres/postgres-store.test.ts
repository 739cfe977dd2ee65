import { storeConformance } from '../../../test/store/conformance.ts';
import { describePostgres } from '../../../test/support/postgres.ts';
import { openPostgresStore } from './open.ts';

await describePostgres('PostgreSQL', (server) => {
  storeConformance('PostgreSQL', () => openPostgresStore(server.url()));
});
