import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const INSTALLED = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);

/** The path of the official filesystem server, or of its bundle if the test run has made one. */
export const OFFICIAL: string = process.env['TEST_OFFICIAL_SERVER'] ?? INSTALLED;

/**
 * Bundles the official server into one file, because loading its hundreds of files takes more than
 * half of its start. The bundle's path ends like the original's, because the proxy recognises the
 * server by its path.
 */
export async function bundleOfficialServer(folder: string): Promise<string> {
  const { build } = await import('rolldown');
  const target = join(folder, 'node_modules/@modelcontextprotocol/server-filesystem');
  const file = join(target, 'dist/index.js');
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'package.json'), '{"type":"module"}');
  await build({
    input: INSTALLED,
    platform: 'node',
    logLevel: 'silent',
    external: [/^node:/],
    output: { file, format: 'esm', codeSplitting: false },
  });
  return file;
}
