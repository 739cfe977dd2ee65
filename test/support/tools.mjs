import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export function toolIn(folder, file) {
  const cwd = join(import.meta.dirname, '..', folder);
  const path = join(cwd, 'node_modules', file);
  if (existsSync(path)) return path;
  const args = ['install', '--no-save', '--ignore-scripts', '--prefer-offline'];
  execFileSync('npm', args, { cwd, env: npmEnvironment(), stdio: 'ignore' });
  return path;
}

export function npmEnvironment() {
  const { TEST_CA_CERTS } = process.env;
  return TEST_CA_CERTS === undefined ? process.env : { ...process.env, NODE_EXTRA_CA_CERTS: TEST_CA_CERTS };
}
