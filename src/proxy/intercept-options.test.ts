import { expect, it } from 'vitest';
import { Witnesses } from './intercept-options.ts';

const noting = (log: string[], name: string) => async () => {
  await null;
  log.push(name);
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('records are made in order, a moment later and not before', async () => {
  const log: string[] = [];
  const witnesses = new Witnesses();
  witnesses.later(noting(log, 'a'));
  const second = new Promise<void>((done) => {
    witnesses.later(async () => {
      await noting(log, 'b')();
      done();
    });
  });
  await turn();
  expect(log).toEqual([]);
  await second;
  expect(log).toEqual(['a', 'b']);
});

it('drain waits for all earlier records, and for no later ones', async () => {
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
