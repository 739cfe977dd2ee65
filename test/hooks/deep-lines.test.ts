import { expect, it } from 'vitest';
import { openSession } from '../../src/session/sessions.ts';
import { Hooked } from '../support/hooked.ts';
import { scratch } from '../support/tree.ts';

const command = `${'echo $('.repeat(400)}true${')'.repeat(400)}`;

it('a shell line that is nested too deeply is refused in words', async () => {
  const { verdict, reason } = await new Hooked(scratch()).shell(command);
  expect(verdict).toBe('deny');
  expect(reason).toContain('nested too deeply');
  expect(reason).toContain('[INVALID_ARGUMENT]');
  expect(reason).not.toContain('doctor');
});

it('run_command refuses such a line too', async () => {
  const { root, home } = scratch();
  const session = await openSession({ roots: [root], home, store: 'memory:' });
  const ran = await session.run(command);
  await session.close();
  expect(ran).toMatchObject({
    ok: false,
    refusal: { code: expect.stringMatching(/INVALID_ARGUMENT|NO_SANDBOX/) },
  });
});
