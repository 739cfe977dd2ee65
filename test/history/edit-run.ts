import fc from 'fast-check';
import { type Act, confirmedLines, conversation } from './claude-file.ts';
import type { KnownLines } from './known-lines.ts';

const piece = fc.constantFrom('a', 'b', '"', '\\', '\\n', 'ü', '😀', '\t', 'return x;', '');
/** Most lines are similar, so that a moved line is easily mistaken for the line that was there. */
const line = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('', 'a', 'b', '\r') },
  { weight: 1, arbitrary: fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join('')) },
);
const text = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 12 }), fc.boolean())
  .map(([lines, ended]) => lines.join('\n') + (ended ? '\n' : ''));
const change = {
  at: fc.nat(200),
  length: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 20 })),
  to: fc.oneof(
    line,
    fc.tuple(line, line).map((lines) => lines.join('\n')),
  ),
};
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      from: fc.nat(11),
      count: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('edit' as const),
      ...change,
      all: fc.boolean(),
      strips: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('outside' as const), ...change }) },
);

/**
 * Checks many random conversations. Lookfirst must find every line that the model certainly knows.
 * It must find no line that the model was never shown and has not written.
 */
export function checkEdits(runs: number): void {
  const growth = fc.tuple(text, fc.array(act, { minLength: 1, maxLength: 8 }));
  fc.assert(
    fc.property(growth, ([start, acts]) => {
      const { byBytes, byText, known } = licensed(start, acts);
      for (const [how, lines] of Object.entries({ byBytes, byText })) {
        const unseen = lines.filter((one) => !known.told.includes(one));
        const lost = known.sure.filter((one) => !lines.includes(one));
        if (unseen.length + lost.length > 0)
          throw new Error(`${how}: never seen ${JSON.stringify(unseen)}, lost ${JSON.stringify(lost)}`);
      }
    }),
    { numRuns: runs },
  );
}

/**
 * The lines that a conversation proves to be known, derived once from its bytes and once from its
 * parsed records.
 */
export function licensed(
  start: string,
  acts: readonly Act[],
): { byBytes: readonly string[]; byText: readonly string[]; known: KnownLines } {
  const { records, known } = conversation(start, acts);
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  return {
    byBytes: confirmedLines(lines, known.text),
    byText: confirmedLines(records, known.text),
    known,
  };
}
