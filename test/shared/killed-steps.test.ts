import { expect, it } from 'vitest';
import { SCENES } from './killable.ts';
import { killEverywhere } from './killed-steps.ts';

it.each(Object.keys(SCENES))('%s is done or not done, wherever it is killed', async (name) => {
  const { killed, old } = await killEverywhere(name, Number(process.env['STRIDE'] ?? 5));
  expect(killed).toBeGreaterThan(1);
  expect(old).toBeGreaterThan(0);
});
