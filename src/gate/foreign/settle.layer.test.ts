import { expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../../test/support/tree.ts';
import { Sessions } from '../../session/sessions.ts';

it.each([
  ['now', 'a shell command ran directly in the workspace, not on its layer'],
  ['by version 0.2.0', 'a shell command ran without its layer'],
])('a missed layer that was noted %s is not expected again', async (_when, text) => {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], store: 'memory:', home });
  onTestFinished(() => sessions.close());
  const session = await sessions.session('test');
  await session.foreign().note(text);
  const change = await session.announceCommand('true', { layer: 'expected' });
  const pending = await sessions.world.store.pending({ change });
  expect(pending).toMatchObject([{ foreign: { command: { layer: 'possible' } } }]);
});
