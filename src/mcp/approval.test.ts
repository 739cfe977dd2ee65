import { describe, expect, it } from 'vitest';
import { OpenQuestions, Questions } from './approval.ts';

const QUESTION = { path: 'a.txt', action: 'edit', mark: 'one' } as const;

describe('a call that its user has approved', () => {
  const call = { name: 'edit_file', arguments: {} };
  const approval = { approval: { action: 'accept' } };

  it('is asked again about another change', async () => {
    const questions = new OpenQuestions();
    const first = questions.begin(call);
    await expect(first.approve(QUESTION)).rejects.toThrow();
    const { requestState } = first.question() ?? {};
    const second = questions.begin({ ...call, inputResponses: approval, requestState });
    expect(await second.approve(QUESTION)).toBe('approved');
    expect(second.question()).toBeUndefined();
    await expect(second.approve({ ...QUESTION, mark: 'two' })).rejects.toThrow();
    const third = { ...call, inputResponses: approval, requestState: second.question()?.requestState };
    const last = questions.begin(third);
    expect(await last.approve(QUESTION)).toBe('approved');
    expect(await last.approve({ ...QUESTION, mark: 'two' })).toBe('approved');
  });
});

it('no question is sent for a call that was cancelled before', async () => {
  const sent: unknown[] = [];
  const questions = new Questions((parts) => sent.push(parts) > 0);
  expect(await questions.ask(QUESTION, AbortSignal.abort())).toBeUndefined();
  expect(sent).toEqual([]);
});
