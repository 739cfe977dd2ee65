import { expect, it } from 'vitest';
import { AskedOnce } from './unknown-refusal.ts';

it('the same call of the same session is allowed the second time, and refused again after that', () => {
  const asked = new AskedOnce();
  const again = (session: string, tool: string, value: number) => asked.again(session, tool, { value });
  expect(again('s', 'a', 1)).toBe(false);
  expect(again('other', 'a', 1)).toBe(false);
  expect(again('s', 'b', 1)).toBe(false);
  expect(again('s', 'a', 2)).toBe(false);
  expect(again('s', 'a', 1)).toBe(true);
  expect(again('s', 'a', 1)).toBe(false);
});

it('a call that was refused long ago is refused again', () => {
  const asked = new AskedOnce();
  for (let value = 0; value < 2000; value++) asked.again('s', 'a', value);
  expect(asked.again('s', 'a', 0)).toBe(false);
  expect(asked.again('s', 'a', 1999)).toBe(true);
});
