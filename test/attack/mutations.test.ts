import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const project = join(import.meta.dirname, '../..');
const changes = execFileSync('git', ['status', '--porcelain'], { cwd: project, encoding: 'utf8' });

// The script breaks a copy of the last commit, so changes that are not committed would go untested.
it.skipIf(changes !== '')('a test notices each break of a promise', () => {
  const script = join(project, 'scripts/mutations.mjs');
  const { stdout, status } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  expect(stdout.split('\n').filter((line) => line.startsWith('UNNOTICED'))).toEqual([]);
  expect(status).toBe(0);
});
