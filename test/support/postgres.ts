import { afterAll, describe, it } from 'vitest';
import { type PostgresServer, type ServerOptions, startServer } from '../postgres/server.mjs';

export type { PostgresServer };

/**
 * Defines tests with a PostgreSQL server of their own. On machines without PostgreSQL, skips them
 * with one line that gives the reason.
 */
export async function describePostgres(
  name: string,
  define: (server: PostgresServer) => void,
  options: ServerOptions = {},
): Promise<void> {
  const server = await startServer(options);
  if (typeof server === 'string') {
    describe.skip(`${name}: ${server}`, () => it('needs a server', () => {}));
    return;
  }
  describe(name, () => {
    afterAll(() => server.stop());
    define(server);
  });
}
