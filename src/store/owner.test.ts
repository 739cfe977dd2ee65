import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { isAlive, ownerOfThisProcess } from './owner.ts';

describe('the owner of a change', () => {
  it('is this process, always the same, and alive', () => {
    expect(ownerOfThisProcess()).toMatch(new RegExp(`^${process.pid}:\\d+$`));
    expect(ownerOfThisProcess()).toBe(ownerOfThisProcess());
    expect(isAlive(ownerOfThisProcess())).toBe(true);
  });

  it('is not a process that has our number and another start', () => {
    expect(isAlive(`${process.pid}:1`)).toBe(false);
  });

  it.each(['', '1', 'x:1', '-1:5', '0:0', '4194305:1'])('%j is nobody', (owner) => {
    expect(isAlive(owner)).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'is alive until it is killed, even before it is reaped',
    async () => {
      const script =
        "console.log(process.pid + ':' + require('fs').readFileSync('/proc/self/stat', 'latin1').split(') ')[1].split(' ')[19]); setInterval(() => {}, 1e6)";
      const child = spawn(process.execPath, ['-e', script]);
      const [line] = await once(child.stdout, 'data');
      const owner = String(line).trim();
      expect(isAlive(owner)).toBe(true);
      expect(isAlive(owner.replace(/\d$/, 'x'))).toBe(false);
      child.kill('SIGKILL');
      await once(child, 'exit');
      expect(isAlive(owner)).toBe(false);
    },
  );
});
