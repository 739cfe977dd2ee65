import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Lets the programs that tests start share their compiled code, although each has its own state folder. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'lookfirst-compiled-'));
  process.env['LOOKFIRST_COMPILE_CACHE'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
