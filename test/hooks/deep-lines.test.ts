import { expect, it } from 'vitest';
import { openSession } from '../../src/session/sessions.ts';
import { Hooked } from '../support/hooked.ts';
import { scratch } from '../support/tree.ts';

/** Far deeper than the parser's stack allows, which depends on how far its code is optimised. */
const command = `${'echo $('.repeat(5000)}true${')'.repeat(5000)}`;

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
