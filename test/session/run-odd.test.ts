import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { here, ran, refusedRun, root, useWorkspace } from '../support/command-workspace.ts';

useWorkspace();

function shell(script: string): void {
  execFileSync('/bin/sh', ['-c', script], { cwd: root });
}

describe.skipIf(here === undefined)('a FIFO of the workspace', () => {
  it('may be touched by a command', async () => {
    shell('mkfifo p');
    const result = await ran('chmod -R u+w .; touch p; echo x > a');
    expect(result.files).toMatchObject([{ path: 'a' }]);
    expect(readdirSync(root)).toEqual(['a', 'p']);
  });

  it('may not be removed or replaced by a command', async () => {
    shell('mkfifo p');
    for (const command of ['rm p', 'rm p; echo x > p'])
      expect(await refusedRun(command)).toMatchObject({ code: 'NOT_A_FILE', path: 'p' });
  });
});
