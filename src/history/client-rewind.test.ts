import { describe, expect, it } from 'vitest';
import { newestCut } from './client-rewind.ts';

it('finds the cut of a Gemini transcript that replaces very many messages', () => {
  const time = (ms: number): string => new Date(ms).toISOString();
  const message = (id: string, ms: number) => ({ id, type: 'user', timestamp: time(ms) });
  const messages = Array.from({ length: 200_000 }, (_, index) => message(`n${index}`, 20 + index));
  const records = [message('old', 10), { $set: { messages } }, message('new', 300_000)];
  const cut = newestCut(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  expect(cut).toEqual({ afterMs: 9, untilMs: 200_019 });
});

describe('a rollback of Codex', () => {
  const record = (second: number, payload: object): string =>
    JSON.stringify({
      type: 'event_msg',
      timestamp: new Date(second * 1000).toISOString(),
      payload,
    });
  const turns = [1, 2, 3, 4].map((second) => record(second, { type: 'task_started' }));
  const rollback = (turnCount?: number): string =>
    record(5, { type: 'thread_rolled_back', ...(turnCount === undefined ? {} : { num_turns: turnCount }) });

  it.each<[string, readonly string[], number | undefined, number | undefined]>([
    ['removes the last turns', turns, 3, 1999],
    ['removes as many turns as the tail has', turns.slice(1), 3, 1999],
    ['removes everything if a removed turn began before the tail', turns.slice(2), 3, 0],
    ['removes everything if it does not say how many turns', turns, undefined, 0],
    ['of no turn removes nothing', turns, 0, undefined],
  ])('%s', (_what, begun, count, afterMs) => {
    const cut = newestCut([...begun, rollback(count)].join('\n'));
    expect(cut).toEqual(afterMs === undefined ? undefined : { afterMs, untilMs: 5000 });
  });
});
