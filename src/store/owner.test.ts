import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { isAlive, ownerOfThisProcess } from './owner.ts';

describe('the owner of a change', () => {
  it('is this process, always the same, and alive', () => {
    expect(ownerOfThisProcess()).toMatch(new RegExp(`^${process.pid}:\\d+$`));
    expect(ownerOfThisProcess()).toBe(ownerOfThisProcess());
    expect(isAlive(ownerOfThisProcess())).toBe(true);
  });

  it('is not a process with our process id and another start time', () => {
    expect(isAlive(`${process.pid}:1`)).toBe(false);
  });

  it.each(['', '1', 'x:1', '-1:5', '0:0', '4194305:1'])('%j is no live process', (owner) => {
    expect(isAlive(owner)).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'is alive until it is killed, whether it was reaped or not',
    async () => {
      // The shell starts a child and then replaces itself by a program that never collects the child's exit status.
      const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec sleep 1000']);
      onTestFinished(() => void parent.kill('SIGKILL'));
      const [pid] = await once(createInterface(parent.stdout), 'line');
      // Waits until the shell has replaced itself; before that, it could collect the exit status.
      await vi.waitUntil(() => readFileSync(`/proc/${parent.pid}/comm`, 'latin1') === 'sleep\n', 100_000);
      const stat = (): string[] =>
        readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
      const owner = `${pid}:${stat()[19]}`;
      expect(isAlive(owner)).toBe(true);
      expect(isAlive(`${owner}0`)).toBe(false);
      process.kill(Number(pid), 'SIGKILL');
      await vi.waitUntil(() => stat()[0] === 'Z', 100_000);
      expect(isAlive(owner)).toBe(false);
    },
  );
});
