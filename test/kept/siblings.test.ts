import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { ok, refusal } from '../support/desk.ts';
import { openRemote } from '../support/remote.ts';
import { scratch } from '../support/tree.ts';

async function twoProcesses(): Promise<{
  root: string;
  here: Awaited<ReturnType<Sessions['session']>>;
  there: Awaited<ReturnType<typeof openRemote>>;
  sessions: Sessions;
}> {
  const { root, home } = scratch();
  const there = await openRemote({ roots: [root], home, session: 'agent' });
  const sessions = await Sessions.open({ roots: [root], home });
  onTestFinished(() => sessions.close());
  return { root, here: await sessions.session('agent'), there, sessions };
}

describe('one session in two processes', () => {
  it('may change in one process at once what was shown in the other', async () => {
    const { root, here, there } = await twoProcesses();
    for (let round = 0; round < 20; round++) {
      const name = `f${round}.txt`;
      writeFileSync(join(root, name), 'one\n');
      await ok(there.call('read', name));
      await ok(here.write(name, 'two\n'));
    }
  });

  it('is refused a change of lines that neither process was shown', async () => {
    const { root, here, there } = await twoProcesses();
    writeFileSync(join(root, 'a.txt'), 'one\n');
    await refusal(here.write('a.txt', 'two\n'), 'NOT_READ');
    await there.close();
    await refusal(here.write('a.txt', 'two\n'), 'NOT_READ');
  });

  it('is open until the last process closes it', async () => {
    const { here, there, sessions } = await twoProcesses();
    const { store, owner } = sessions.world;
    expect((await store.session('agent'))?.openIn).toEqual([expect.any(String), owner]);
    await there.close();
    expect(await store.session('agent')).toMatchObject({ openIn: [owner] });
    expect(await store.session('agent')).not.toHaveProperty('closedMs');
    await here.close();
    expect(await store.session('agent')).toMatchObject({ closedMs: expect.any(Number) });
  });
});
