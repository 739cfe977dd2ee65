import { expect, it } from 'vitest';
import { Fault } from '../model/fault.ts';
import { storeCause } from './failure.ts';

it.each([
  ['STORE_FAILED', 'full', 'the disk of the state folder is full'],
  ['STORE_FAILED', 'ENOSPC', 'the disk of the state folder is full'],
  ['STORE_FAILED', 'newer', 'the store was written by a newer Lookfirst, and this one must be updated'],
  ['STORE_FAILED', 'toString', undefined],
  ['STORE_FAILED', undefined, undefined],
  ['IO_FAILED', 'ENOSPC', undefined],
] as const)('%s because of %s: %s', (code, reason, words) => {
  const fault = new Fault(code, 'secret', reason === undefined ? {} : { reason });
  expect(storeCause(fault)).toBe(words);
});
