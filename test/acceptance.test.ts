import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const project = fileURLToPath(new URL('..', import.meta.url));
const runner = fileURLToPath(new URL('../../shared/acceptance/run.mjs', import.meta.url));

it('every scenario of the contract passes, where the scenarios are at hand', {
  timeout: 170_000,
}, async () => {
  if (!existsSync(runner)) {
    expect(existsSync(runner)).toBe(false);
    return;
  }
  const run = promisify(execFile)(process.execPath, [runner, '--project', project], { timeout: 160_000 });
  // A failed run tells in its output which scenarios failed.
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  expect(stdout).toMatch(/\d+ passed, 0 failed/);
});
