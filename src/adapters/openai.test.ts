import { expect, it } from 'vitest';
import { type CommandJudge, guardedSandbox, guardedShell } from './openai.ts';

/** Allows every command. `ended` holds the output of each command that was recorded. */
function recorder(): { readonly judge: CommandJudge; readonly ended: string[] } {
  const ended: string[] = [];
  const judge: CommandJudge = {
    before: async () => undefined,
    after: async (_command, output) => void ended.push(output),
  };
  return { judge, ended };
}

const failing = (_command: object): Promise<never> => Promise.reject(new Error('timed out'));

it('a shell command that throws is recorded, because it may have changed files', async () => {
  const { judge, ended } = recorder();
  const shell = guardedShell({ run: failing }, judge);
  await expect(shell.run({ commands: ['make'] })).rejects.toThrow('timed out');
  expect(ended).toEqual(['']);
});

it.each(['exec', 'execCommand'] as const)('so is a command of a sandbox (%s)', async (method) => {
  const { judge, ended } = recorder();
  const inner = { state: { manifest: { root: '/workspace' } }, exec: failing, execCommand: failing };
  const sandbox = guardedSandbox(inner, undefined, judge);
  await expect(sandbox[method]({ cmd: 'make' })).rejects.toThrow('timed out');
  expect(ended).toEqual(['']);
});
