import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

export function toolIn(folder, file) {
  const cwd = join(import.meta.dirname, '..', folder);
  const path = join(cwd, 'node_modules', file);
  return alone(folder, async () => {
    // Check this under the lock: while another process installs, files appear one by one.
    if (!existsSync(path)) await install(cwd);
    return path;
  });
}

export async function install(cwd) {
  // Not `npm ci`: it fails if a registry lacks an optional package for another platform. The lock file
  // pins the versions here too.
  const args = ['install', '--no-save', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', args, { cwd, env: npmEnvironment() });
}

export async function alone(name, work) {
  const { TEST_DISK } = process.env;
  // Outside a test run there is only one process, so no lock is needed.
  if (TEST_DISK === undefined) return work();
  const lock = join(TEST_DISK, `lock-${name}`);
  while (!isTaken(lock)) await setTimeout(50);
  try {
    return await work();
  } finally {
    rmdirSync(lock);
  }
}

function isTaken(lock) {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  }
}

export function npmEnvironment() {
  const { TEST_CA_CERTS } = process.env;
  return TEST_CA_CERTS === undefined ? process.env : { ...process.env, NODE_EXTRA_CA_CERTS: TEST_CA_CERTS };
}
