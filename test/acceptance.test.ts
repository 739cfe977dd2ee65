import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const project = fileURLToPath(new URL('..', import.meta.url));
const runner = fileURLToPath(new URL('../../shared/acceptance/run.mjs', import.meta.url));

it.concurrent.each([
  ['version 1', []],
  ['version 2', ['--version2']],
])(
  'passes every scenario of the contract, if the scenarios are installed: %s',
  {
    timeout: 900_000,
    // Retry once. One scenario sends a read and a write together. On a busy machine the write may
    // arrive after the answer to the read, and the scenario then fails.
    retry: 1,
  },
  async (_version, flags) => {
    if (!existsSync(runner)) {
      expect(existsSync(runner)).toBe(false);
      return;
    }
    const run = promisify(execFile)(process.execPath, [runner, '--project', project, ...flags], {
      timeout: 880_000,
    });
    // Read the output of a failed run too: it names the scenarios that failed.
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    expect(stdout).toMatch(/\d+ passed, 0 failed/);
  },
);
