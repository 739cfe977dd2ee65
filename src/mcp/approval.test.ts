import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ClientCall } from '../model/call.ts';
import type { ToolContext } from '../tools/tool-answer.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { HeldCalls, Questions } from './approval.ts';

const QUESTION = { path: 'a.txt', action: 'edit' } as const;

/** A host whose only tool asks the user `questions` times. */
function hostAsking(questions: number): ToolHost {
  return {
    info: { name: 'fixture', version: '1' },
    instructions: '',
    tools: () => [],
    call: async (_name, _args, context) => {
      // Wait first, because a real host reads files before it asks.
      await setImmediate();
      for (let asked = 0; asked < questions; asked += 1) await context.times.approve?.(QUESTION);
      return { ok: true, shown: 'done', outcome: { ok: true } };
    },
  };
}

function request(): { readonly context: ToolContext; readonly times: ClientCall; cancel(): void } {
  const controller = new AbortController();
  const times = new ClientCall();
  const { signal } = controller;
  const context = { signal, meta: {}, clientInfo: undefined, sessionHint: undefined, times, progress() {} };
  return { context, times, cancel: () => controller.abort() };
}

describe('a call that may ask its user', () => {
  const call = { name: 'edit_file', args: {}, inputResponses: undefined, requestState: undefined };

  it('is not noted as answered before its answer is sent: it may be cancelled', async () => {
    const { context, times } = request();
    expect(await new HeldCalls().run(hostAsking(0), { ...call, context })).toMatchObject({ ok: true });
    expect(times.answeredAt).toBe(Number.POSITIVE_INFINITY);
  });

  it.each(['answered', 'cancelled'])('that a later request continues is noted as %s', async (ending) => {
    const held = new HeldCalls();
    const [first, second] = [request(), request()];
    const asked = await held.run(hostAsking(1), { ...call, context: first.context });
    if (!('requestState' in asked)) throw new Error('nothing was asked');
    const inputResponses = { approval: { action: 'accept' } };
    const { requestState } = asked;
    const round = held.run(hostAsking(1), { ...call, context: second.context, inputResponses, requestState });
    if (ending === 'cancelled') second.cancel();
    await round;
    expect(Number.isFinite(first.times.answeredAt)).toBe(ending === 'answered');
    expect(second.times.answeredAt).toBe(Number.POSITIVE_INFINITY);
  });

  it('that a later request continues is noted as answered after the input that has arrived was read', async () => {
    const [first, second] = [request(), request()];
    const answeredAt: (number | undefined)[] = [];
    const held = new HeldCalls(async () => void answeredAt.push(first.times.answeredAt));
    const asked = await held.run(hostAsking(1), { ...call, context: first.context });
    if (!('requestState' in asked)) throw new Error('nothing was asked');
    first.times.showsMore = true;
    await held.run(hostAsking(1), { ...call, context: second.context, requestState: asked.requestState });
    expect(answeredAt).toEqual([Number.POSITIVE_INFINITY]);
    expect(Number.isFinite(first.times.answeredAt)).toBe(true);
  });
});

it('no question is sent for a call that was cancelled before', async () => {
  const sent: unknown[] = [];
  const questions = new Questions((parts) => sent.push(parts) > 0);
  expect(await questions.ask(QUESTION, AbortSignal.abort())).toBeUndefined();
  expect(sent).toEqual([]);
});
