import fc from 'fast-check';
import type { CallStep, Lines, ResultStep, Step } from './step.ts';

const ids = fc.constantFrom('1', '2', '3', '4', '5', '6');
const paths = fc.constantFrom('a.ts', '/repo/a.ts', 'src/b.ts', '/repo/src/../c.ts', 'd.ts', '/else/e.ts');
const lines = fc
  .tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 6 }))
  .map(([from, more]): Lines => [from, from + more]);
const commands = fc.constantFrom(
  'cat a.ts',
  'sed -n 2,4p d.ts',
  'head -n 3 /repo/a.ts',
  'tail -n 2 d.ts',
  'ls',
);

const calls: fc.Arbitrary<CallStep> = fc
  .oneof(
    { weight: 5, arbitrary: fc.record({ tool: fc.constant('read' as const), path: paths }) },
    { weight: 3, arbitrary: fc.record({ tool: fc.constant('read' as const), path: paths, lines }) },
    {
      weight: 2,
      arbitrary: fc.record({
        tool: fc.constant('write' as const),
        path: paths,
        content: fc.constantFrom('x\n', 'x\ny', '', 'ünï\r\ncode "\\n"\n'),
      }),
    },
    { weight: 3, arbitrary: fc.record({ tool: fc.constant('edit' as const), path: paths }) },
    { weight: 2, arbitrary: fc.record({ tool: fc.constant('shell' as const), command: commands }) },
  )
  .chain((call) => ids.map((id): CallStep => ({ do: 'call', id, ...call })));

const results: fc.Arbitrary<ResultStep> = fc.oneof(
  { weight: 8, arbitrary: ids.map((id): ResultStep => ({ do: 'result', id })) },
  {
    weight: 2,
    arbitrary: fc.tuple(ids, fc.constantFrom('error', 'denied', 'blank')).map(([id, is]): ResultStep => {
      return { do: 'result', id, is: is as 'error' | 'denied' | 'blank' };
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(ids, paths, lines)
      .map(([id, path, shown]): ResultStep => ({ do: 'result', id, shows: { path, lines: shown } })),
  },
);

const events: fc.Arbitrary<Step> = fc.oneof(
  fc.uniqueArray(ids, { maxLength: 2 }).map((keep): Step => ({ do: 'compact', keep })),
  ids.map((before): Step => ({ do: 'rewind', before })),
  fc.integer({ min: 0, max: 4 }).map((count): Step => ({ do: 'clear', count })),
  ids.map((id): Step => ({ do: 'blank', id })),
  fc.constantFrom('/repo', '/repo/src', '/else').map((directory): Step => ({ do: 'enter', directory })),
);

/** A random conversation, mostly valid: calls with their results, and sometimes another event. */
export const RANDOM_STEPS: fc.Arbitrary<readonly Step[]> = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: calls.map((call): Step[] => [call, { do: 'result', id: call.id }]) },
      { weight: 2, arbitrary: calls.map((call): Step[] => [call]) },
      { weight: 2, arbitrary: results.map((result): Step[] => [result]) },
      { weight: 2, arbitrary: events.map((event): Step[] => [event]) },
    ),
    { minLength: 1, maxLength: 16 },
  )
  .map((steps) => steps.flat());

/** Lines that are not records, as in damaged files. */
export const NOISE: fc.Arbitrary<string> = fc.constantFrom(
  '',
  '\r',
  'not json',
  '{"parentUuid":null,"isSidechain":false,',
  '{"type":"summary","summary":"x","leafUuid":"y"}',
  '[]',
  '17',
  '"text"',
  '{}',
  '{"type":"user"}',
);
