import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { Sessions } from '../session/sessions.ts';
import { ContextWatch, type ShownResult } from './context-watch.ts';

const A: ShownResult = ['1', 'one'];
const B: ShownResult = ['2', 'bee'];

async function setUp(): Promise<readonly [GatedSession, GatedSession]> {
  const { root, home } = scratch();
  const sessions = await Sessions.open({ roots: [root], home, store: 'memory:' });
  onTestFinished(() => sessions.close());
  writeFileSync(join(root, 'b.txt'), 'bee\n');
  return [await sessions.session('first'), await sessions.session('second')];
}

it('notices a removed result although another session made the previous request', async () => {
  const [first, second] = await setUp();
  let current = first;
  const watch = new ContextWatch(() => current, 'ai-sdk');
  await first.read('b.txt');
  await watch.look([], [A, B]);
  current = second;
  await watch.look([], []);
  current = first;
  await watch.look([], [A]);
  expect(await first.write('b.txt', 'x\n')).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
});

it("does not take another session's results for removed ones", async () => {
  const [first, second] = await setUp();
  let current = first;
  const watch = new ContextWatch(() => current, 'ai-sdk');
  await watch.look([], [A]);
  current = second;
  await second.read('b.txt');
  await watch.look([], [B]);
  expect(await second.write('b.txt', 'x\n')).toMatchObject({ ok: true });
});

it('notices a removed result again if the session could not be told', async () => {
  const [session] = await setUp();
  const watch = new ContextWatch(session, 'ai-sdk');
  await session.read('b.txt');
  await watch.look([], [A, B]);
  const unreadable = new Proxy([], {
    get: () => {
      throw new Error('unreadable');
    },
  });
  await expect(watch.look(unreadable, [A])).rejects.toThrow('unreadable');
  await session.read('b.txt');
  await watch.look([], [A]);
  expect(await session.write('b.txt', 'x\n')).toMatchObject({ ok: false, refusal: { code: 'NOT_READ' } });
});
