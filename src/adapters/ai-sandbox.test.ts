import { expect, it, onTestFinished } from 'vitest';
import { sandboxHere } from '../../test/support/sandbox.ts';
import { scratch } from '../../test/support/tree.ts';
import { Sessions } from '../session/sessions.ts';
import { lookfirstSandbox } from './ai-sandbox.ts';

const here = await sandboxHere();

it('a command that the inner sandbox cannot start does not stay announced', async () => {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  const fails = (): Promise<never> => Promise.reject(new Error('no such container'));
  const sandbox = lookfirstSandbox(await sessions.session('agent'), { spawn: fails, run: fails });
  await expect(sandbox.spawn({ command: 'make' })).rejects.toThrow('no such container');
  await expect(sandbox.run({ command: 'make' })).rejects.toThrow('no such container');
  expect(await sessions.world.store.pending()).toEqual([]);
});

it.skipIf(here === undefined)('a file that a command wrote does not count as seen', async () => {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  const sandbox = lookfirstSandbox(await sessions.session('agent'));
  expect(await sandbox.run({ command: 'seq 2 > a.txt' })).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  const writing = sandbox.writeTextFile({ path: 'a.txt', content: 'three\n' });
  await expect(writing).rejects.toMatchObject({ code: 'NOT_READ' });
});
