import { expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import { Sessions } from '../session/sessions.ts';
import { lookfirstSandbox } from './ai-sandbox.ts';

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
