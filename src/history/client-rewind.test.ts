import { expect, it } from 'vitest';
import { newestCut } from './client-rewind.ts';

it('finds the cut of a Gemini transcript that replaces very many messages', () => {
  const time = (ms: number): string => new Date(ms).toISOString();
  const message = (id: string, ms: number) => ({ id, type: 'user', timestamp: time(ms) });
  const messages = Array.from({ length: 200_000 }, (_, index) => message(`n${index}`, 20 + index));
  const records = [message('old', 10), { $set: { messages } }, message('new', 300_000)];
  const cut = newestCut(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  expect(cut).toEqual({ afterMs: 9, untilMs: 200_019 });
});
