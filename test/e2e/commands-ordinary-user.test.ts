import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups', '--'];
/** If the tests run as root, all other files have run these as root. */
const isRoot = process.getuid?.() === 0;
const canRead =
  isRoot && spawnSync('setpriv', [...NOBODY, 'test', '-r', join(PROJECT, 'package.json')]).status === 0;
if (isRoot && !canRead) process.stderr.write('skipped: an ordinary user cannot read this folder\n');

it.skipIf(!canRead)(
  'the sandbox passes its tests without the rights of root',
  () => {
    const home = mkdtempSync(join(tmpdir(), 'lookfirst-nobody-'));
    chmodSync(home, 0o777);
    const vitest = join(PROJECT, 'node_modules/vitest/vitest.mjs');
    const files = ['src/process/processes.test.ts', 'test/session/run.test.ts'];
    // The default loader writes beside the configuration, which an ordinary user may not.
    const args = [vitest, 'run', '--configLoader', 'runner', '--no-cache', ...files];
    const { status, stdout, stderr } = spawnSync('setpriv', [...NOBODY, process.execPath, ...args], {
      cwd: PROJECT,
      env: { ...process.env, HOME: home, NO_COLOR: '1' },
      encoding: 'utf8',
    });
    expect({ status, output: status === 0 ? '' : stdout.slice(-4000) + stderr }).toEqual({
      status: 0,
      output: '',
    });
  },
  300_000,
);
