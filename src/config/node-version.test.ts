import { expect, it } from 'vitest';
import { whyNodeIsTooOld } from './node-version.ts';

it.each(['20.19.0', '20.20.2', '22.0.0', '24.1.0'])('accepts Node %s', (version) => {
  expect(whyNodeIsTooOld(version)).toBeUndefined();
});

it.each(['18.20.8', '20.18.3', '16.0.0'])('names the needed version to a user of Node %s', (version) => {
  expect(whyNodeIsTooOld(version)).toBe(`Lookfirst needs Node 20.19 or later; this is ${version}`);
});
