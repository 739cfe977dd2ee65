import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { changeEntry, pendingChange } from '../../../test/store/samples.ts';
import { scratch } from '../../../test/support/tree.ts';
import { Fault } from '../../model/fault.ts';
import type { Heart } from './heart.ts';
import { Names } from './names.ts';
import { CHAIN_IDLE_MS, RecordWriter } from './record-writer.ts';

it('sends the owner with a change until the server has confirmed it, not with every change', () => {
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [] });
  const announced = (change: string) => writer.prepare({ announce: pendingChange(change) });
  const ownerIn = (record: { readonly text: string }): unknown => JSON.parse(record.text).owner;
  const [first, second] = [announced('c1'), announced('c2')];
  expect([first, second].map(ownerIn)).toEqual(['me', 'me']);
  writer.done(first, 0);
  expect(ownerIn(announced('c3'))).toBeUndefined();
});

it('expects no longer to find its chain after a pause in which a clean-up may have removed it', () => {
  vi.useFakeTimers({ now: 1_000_000_000_000 });
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [] });
  const prepared = () => writer.prepare({ entries: [changeEntry('c1', [])] });
  const acknowledgedIn = (record: { readonly text: string }): unknown => JSON.parse(record.text).acknowledged;
  writer.done(prepared(), 5);
  vi.advanceTimersByTime(CHAIN_IDLE_MS);
  expect(acknowledgedIn(prepared())).toBe(5);
  vi.advanceTimersByTime(1);
  expect(acknowledgedIn(prepared())).toBe(0);
  writer.done(prepared(), 1);
  expect(acknowledgedIn(prepared())).toBe(1);
  vi.useRealTimers();
});

it('leaves files alone that no abandoned change has named', () => {
  const { home } = scratch();
  const folder = join(home, 'lookfirst.abandoned');
  mkdirSync(folder, { recursive: true });
  for (const name of ['100%', 'c%201']) writeFileSync(join(folder, name), '');
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [], home });
  const prepared = writer.prepare({});
  expect(prepared.withdrawn).toEqual(['c 1']);
  writer.done(prepared, 0);
  expect(['100%', 'c%201'].map((name) => existsSync(join(folder, name)))).toEqual([true, false]);
});

it('withdraws a change again if the server ignored the record that withdrew it', () => {
  const { home } = scratch();
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [], home });
  const lost = new Fault('STORE_FAILED', 'no answer', { reason: 'unanswered' });
  writer.failed(writer.prepare({ announce: pendingChange('c1') }), lost);
  writer.done(writer.prepare({ ifPending: 'c2' }), -1);
  expect(writer.prepare({}).withdrawn).toEqual(['c1']);
  expect(writer.hasAbandoned('c1')).toBe(true);
});

it('does not withdraw a change that was announced before the record whose answer was lost', () => {
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [] });
  const lost = new Fault('STORE_FAILED', 'no answer', { reason: 'unanswered' });
  writer.failed(writer.prepare({ ifPending: 'c1', announce: pendingChange('c1') }), lost);
  expect(writer.hasAbandoned()).toBe(false);
});

it('sends heartbeats for a change under a lock, not for one that another process may end', () => {
  const announced: string[] = [];
  // The cast is safe: the writer uses only these members.
  const heart = {
    announced: (change: string) => announced.push(change),
    fencesOf: () => [],
  } as unknown as Heart;
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [], heart });
  const host = { writes: [], bypasses: [] };
  for (const [change, more] of [
    ['own', {}],
    ['locked', { host: { ...host, hold: 'lock' } }],
    ['free', { host: { ...host, hold: 'none' } }],
  ] as const)
    writer.done(writer.prepare({ announce: pendingChange(change, more) }), 0);
  expect(announced).toEqual(['own', 'locked']);
});
