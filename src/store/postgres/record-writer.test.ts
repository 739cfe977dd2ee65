import { expect, it, vi } from 'vitest';
import { changeEntry, pendingChange } from '../../../test/store/samples.ts';
import { Fault } from '../../model/fault.ts';
import type { Heart } from './heart.ts';
import { Names } from './names.ts';
import { CHAIN_IDLE_MS, RecordWriter } from './record-writer.ts';

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

it('withdraws a refused change until the server can no longer get its announcement', () => {
  vi.useFakeTimers({ now: 1_000_000_000_000 });
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [] });
  const lost = new Fault('STORE_FAILED', 'no answer', { reason: 'unanswered' });
  writer.failed(writer.prepare({ announce: pendingChange('c1') }), lost);
  writer.done(writer.prepare({}), 0);
  vi.advanceTimersByTime(11_000);
  writer.done(writer.prepare({ ifPending: 'c2' }), -1);
  expect([...writer.refused.keys()]).toEqual(['c1']);
  expect(writer.prepare({}).withdrawn).toEqual(['c1']);
  writer.done(writer.prepare({}), 0);
  expect(writer.refused.size).toBe(0);
  vi.useRealTimers();
});

it('does not withdraw a change that was announced before the record whose answer was lost', () => {
  const writer = new RecordWriter({ names: new Names('m'), owner: 'me', sharedRoots: [] });
  const lost = new Fault('STORE_FAILED', 'no answer', { reason: 'unanswered' });
  writer.failed(writer.prepare({ ifPending: 'c1', announce: pendingChange('c1') }), lost);
  expect(writer.refused.size).toBe(0);
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
