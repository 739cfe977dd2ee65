import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleOfficialServer } from './official-server.ts';

/**
 * Speeds up the programs that tests start. They share a cache of compiled code, and the official
 * server is bundled into one file. NODE_EXTRA_CA_CERTS is removed, because Node takes longer to
 * read those certificates than to start; npm still gets them.
 */
export async function setup(): Promise<() => void> {
  const { NODE_EXTRA_CA_CERTS } = process.env;
  if (NODE_EXTRA_CA_CERTS !== undefined) process.env['TEST_CA_CERTS'] = NODE_EXTRA_CA_CERTS;
  delete process.env['NODE_EXTRA_CA_CERTS'];
  const folder = mkdtempSync(join(tmpdir(), 'lookfirst-compiled-'));
  process.env['LOOKFIRST_COMPILE_CACHE'] = folder;
  // The folder is readable for all, because tests also start the official server as another user.
  const readable = mkdtempSync(join(tmpdir(), 'lookfirst-official-'));
  chmodSync(readable, 0o755);
  process.env['TEST_OFFICIAL_SERVER'] = await bundleOfficialServer(readable);
  // Tests that start a PostgreSQL server copy one database in this folder: creating one is slow.
  const databases = mkdtempSync(join(tmpdir(), 'lookfirst-databases-'));
  process.env['TEST_POSTGRES_DATA'] = databases;
  // Each child program of the tests is bundled once, into a folder inside the project, so that the
  // bundle finds the project's packages.
  const cache = join(import.meta.dirname, '../../node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const children = mkdtempSync(join(cache, 'lookfirst-children-'));
  chmodSync(children, 0o755);
  process.env['TEST_CHILDREN'] = children;
  return () => {
    for (const made of [folder, readable, databases, children])
      rmSync(made, { recursive: true, force: true });
  };
}
