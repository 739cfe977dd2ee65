import { afterAll, describe, it } from 'vitest';
import { type PostgresServer, type ServerOptions, startServer } from '../postgres/server.mjs';

export type { PostgresServer };

/** Tests with their own server. On machines without one they are skipped, with one line that gives the reason. */
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
