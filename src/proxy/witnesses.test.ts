import { expect, it } from 'vitest';
import { Witnesses } from './witnesses.ts';

const noting = (log: string[], name: string) => async () => {
  await null;
  log.push(name);
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('notes are made in order at the next occasion, not before', async () => {
  const log: string[] = [];
  const witnesses = new Witnesses();
  witnesses.later(noting(log, 'a'));
  witnesses.later(noting(log, 'b'));
  await turn();
  expect(log).toEqual([]);
  witnesses.occasion();
  await turn();
  await turn();
  expect(log).toEqual(['a', 'b']);
});

it('without an occasion they are made all the same', async () => {
  const done = new Promise<string>((resolve) => {
    new Witnesses().later(async () => resolve('noted'));
  });
  expect(await done).toBe('noted');
});

it('whoever depends on them waits for all that came before, and for nothing that comes after', async () => {
  const log: string[] = [];
  const witnesses = new Witnesses();
  witnesses.later(noting(log, 'a'));
  const drained = witnesses.drain();
  witnesses.later(noting(log, 'later'));
  await drained;
  expect(log).toEqual(['a']);
  await witnesses.drain();
  expect(log).toEqual(['a', 'later']);
});
