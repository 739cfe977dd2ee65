import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { readEntry } from '../../test/store/samples.ts';
import { scratch } from '../../test/support/tree.ts';
import { walkEntries } from '../store/store.ts';
import { Foreground, Records } from './records.ts';

it('a long list yields to answers that a user waits for before each of its pages', async () => {
  const { home } = scratch();
  const records = await Records.openOrCreate({ home, store: `sqlite:${join(home, 'lookfirst.db')}` });
  onTestFinished(() => records.close());
  await records.store.record({ entries: Array.from({ length: 2500 }, () => readEntry()) });
  const foreground = new Foreground();
  let read = 0;
  const list = (async () => {
    for await (const _ of walkEntries(foreground.behind(records).store, {})) read += 1;
  })();
  // Let the list begin, so that the user's click below arrives while the list is being read.
  await setImmediate();
  let answer: () => void = () => {};
  const click = foreground.run(
    () =>
      new Promise<void>((resolve) => {
        answer = resolve;
      }),
  );
  for (let turns = 0; turns < 100; turns += 1) await setImmediate();
  expect(read).toBeLessThan(2500);
  answer();
  await click;
  await list;
  expect(read).toBe(2500);
});
