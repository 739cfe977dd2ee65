import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The programs that tests start share their compiled code, for each has a state folder of its own. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'lookfirst-compiled-'));
  process.env['LOOKFIRST_COMPILE_CACHE'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
