import { expect, it } from 'vitest';
import { loadPostgres } from './connection.ts';

it('names the commands that install a missing driver, also for npx', async () => {
  const fault = await loadPostgres('lookfirst-no-such-package').catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: 'CONFIG_INVALID', reason: 'driver' });
  expect(String(fault)).toContain('"npm install pg"');
  expect(String(fault)).toContain('"npx -y -p lookfirst -p pg lookfirst ..."');
});
