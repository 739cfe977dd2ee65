import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errnoOf, unlessErrno } from '../../src/model/fault.ts';
import { bundleOfficialServer } from './official-server.ts';

const SHARED_MEMORY = '/dev/shm';
const ENOUGH_BYTES = 2 ** 30;

/**
 * Prepares a test run. All its temporary files are in one or two folders, which are removed at the
 * end. Programs that tests start share a cache of compiled code, and the official server is bundled
 * into one file. NODE_EXTRA_CA_CERTS is removed, because Node takes longer to read those
 * certificates than to start; npm still gets them.
 */
export async function setup(): Promise<() => void> {
  const { NODE_EXTRA_CA_CERTS } = process.env;
  if (NODE_EXTRA_CA_CERTS !== undefined) process.env['TEST_CA_CERTS'] = NODE_EXTRA_CA_CERTS;
  delete process.env['NODE_EXTRA_CA_CERTS'];
  // Some tests start programs as another user, who must be able to read what the tests make.
  process.umask(0o022);
  const [disk, memory] = [runFolder(tmpdir()), memoryFolder()];
  Object.assign(process.env, { TMPDIR: disk, TEST_DISK: disk });
  if (memory !== undefined) process.env['TEST_MEMORY'] = memory;
  const compiled = join(disk, 'compiled');
  mkdirSync(compiled, 0o700);
  process.env['LOOKFIRST_COMPILE_CACHE'] = compiled;
  process.env['TEST_OFFICIAL_SERVER'] = await bundleOfficialServer(disk);
  // Tests that start a PostgreSQL server copy one database in this folder: creating one is slow.
  process.env['TEST_POSTGRES_DATA'] = disk;
  // Each child program of the tests is bundled once, into a folder inside the project, so that the
  // bundle finds the project's packages.
  const cache = join(import.meta.dirname, '../../node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const children = mkdtempSync(join(cache, 'lookfirst-children-'));
  chmodSync(children, 0o755);
  process.env['TEST_CHILDREN'] = children;
  return () => {
    for (const made of [disk, memory, children])
      if (made !== undefined) rmSync(made, { recursive: true, force: true });
  };
}

/**
 * Makes a folder that all users can use, because some tests start programs as another user. Removes
 * the folders of killed runs.
 */
function runFolder(parent: string): string {
  for (const name of readdirSync(parent)) {
    const pid = /^lookfirst-tests-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid)))
      unlessErrno(() => rmSync(join(parent, name), { recursive: true, force: true }));
  }
  const folder = realpathSync(mkdtempSync(join(parent, `lookfirst-tests-${process.pid}-`)));
  chmodSync(folder, 0o1777);
  return folder;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The error EPERM means that another user runs the process.
    return errnoOf(error) === 'EPERM';
  }
}

/**
 * Makes a folder in memory for the tests of the project `memory`: there they take a tenth less
 * time. Undefined if the machine has no such file system, if it is small or runs no programs, or if
 * TEST_ON_DISK is set.
 */
function memoryFolder(): string | undefined {
  if (process.platform !== 'linux' || process.env['TEST_ON_DISK'] !== undefined) return undefined;
  try {
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    if (bavail * bsize < ENOUGH_BYTES) return undefined;
    const folder = runFolder(SHARED_MEMORY);
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    if (spawnSync(program).status === 0) return folder;
    rmSync(folder, { recursive: true });
  } catch {
    // Ignore the error: the tests then use the disk.
  }
  return undefined;
}
