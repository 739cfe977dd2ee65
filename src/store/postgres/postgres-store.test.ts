import { afterAll, beforeAll, describe, it } from 'vitest';
import { storeConformance } from '../../../test/store/conformance.ts';
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.ts';
import { openPostgresStore } from './postgres-store.ts';

const started = await startPostgres();
if (typeof started === 'string') {
  describe.skip(started, () => it('is not there', () => {}));
} else withServer(started);

function withServer(server: PostgresServer): void {
  afterAll(() => server.stop());
  storeConformance('PostgreSQL', () => openPostgresStore(server.url()));
}
void beforeAll;
