import { Session } from 'node:inspector/promises';
import { expect, it, onTestFinished } from 'vitest';
import { Hooked } from '../support/hooked.ts';
import { scratch } from '../support/tree.ts';

/** Starts to count the calls of the shell parser, and returns the number so far at each call. */
async function parserCalls(): Promise<() => Promise<number>> {
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let calls = 0;
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const parser = result.find(({ url }) => url.endsWith('/unbash/dist/parser.js'));
    const found = parser?.functions.find(({ functionName }) => functionName === 'parse');
    calls += found?.ranges[0]?.count ?? 0;
    return calls;
  };
}

it('a shell line is parsed once by each hook', async () => {
  const agent = new Hooked(scratch());
  await agent.shell('true');
  const calls = await parserCalls();
  const command = 'cd src && npm test 2>&1 | tail -n 5; echo x > a.txt; grep -rn x . && git mv b c; server &';
  const call = { action: 'run', input: { command }, call: 'c' };
  await agent.send({ ...call, event: 'before' });
  expect(await calls()).toBe(1);
  await agent.send({ ...call, event: 'after', output: 'a.txt\n' });
  expect(await calls()).toBe(2);
});
