import { expect, it } from 'vitest';
import type { ForeignSession } from '../model/foreign-session.ts';
import { remembered } from './intercept-options.ts';

/** A stand-in for a session, identified only by its id. */
const session = (id: string): ForeignSession => ({ id }) as ForeignSession;

it('a session is chosen once for the same _meta, and is then available synchronously', async () => {
  let asked = 0;
  const choose = remembered(async (meta) => {
    asked++;
    return session(String(meta['who']));
  });
  expect(choose({ who: 'a', progressToken: 1 })).toBeInstanceOf(Promise);
  const first = await choose({ who: 'a', progressToken: 2 });
  expect(choose({ who: 'a', progressToken: 3 })).toBe(first);
  expect((await choose({ who: 'b' })).id).toBe('b');
  expect(asked).toBe(3);
});

it('a choice that failed is repeated', async () => {
  let asked = 0;
  const choose = remembered(async () => {
    if (asked++ === 0) throw new Error('no store');
    return session('x');
  });
  await expect(choose({})).rejects.toThrow('no store');
  expect((await choose({})).id).toBe('x');
});
