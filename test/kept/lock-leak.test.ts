import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { ok, refusal } from '../support/desk.ts';
import { setLimits } from '../support/limits.ts';
import { scratch } from '../support/tree.ts';

it('a change that fails because of the store releases its locks', async () => {
  const { root, home } = scratch();
  writeFileSync(join(root, 'a.txt'), 'one\n');
  setLimits({ lockTimeoutMs: 200 });
  const [broken, other] = await Promise.all([1, 2].map(() => Sessions.open({ roots: [root], home })));
  if (broken === undefined || other === undefined) expect.fail('not opened');
  onTestFinished(() => other.close());
  const [ann, bob] = [await broken.session('ann'), await other.session('bob')];
  for (const session of [ann, bob]) await ok(session.read('a.txt'));

  // Control: while one process holds the lock, others cannot take it.
  const release = await broken.world.locks.acquire([join(root, 'a.txt')], 0);
  await refusal(bob.write('a.txt', 'two\n'), 'BUSY');
  release?.();

  const { store } = broken.world;
  const atLocked = store.atLocked.bind(store);
  Object.assign(store, { atLocked: () => Promise.reject(new Error('the disk is gone')) });
  await expect(ann.write('a.txt', 'two\n')).rejects.toThrow('the disk is gone');
  await ok(bob.write('a.txt', 'three\n'));
  Object.assign(store, { atLocked });
  await broken.close();
});
