import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

type Weight = Readonly<
  Record<'files' | 'functions' | 'promises' | 'statements', number> & { systemCalls?: number }
>;

const SCRIPT = join(import.meta.dirname, '../bench/call-weight.mjs');

/**
 * Upper limits of what one warm call of one file costs at durability none, a few per cent above the
 * usual counts.
 */
const LIMITS: Readonly<Record<string, Partial<Weight>>> = {
  'session write': { files: 71, functions: 418, promises: 52, statements: 12, systemCalls: 78 },
  'session read': { files: 38, functions: 132, promises: 5, statements: 1, systemCalls: 9 },
  'session first read': { files: 42, functions: 156, promises: 5, statements: 1, systemCalls: 16 },
  'server read': { files: 51, functions: 192, promises: 8, statements: 1 },
  'server first read': { files: 57, functions: 255, promises: 10, statements: 1 },
  'proxy edit': { files: 101, functions: 690 },
  'session undo': { files: 73, functions: 535, promises: 116, statements: 17 },
};

// Retries are safe: on a busy machine a timer may run inside a call and add to a count, but it hides
// nothing.
it('one call of one file stays as light as it is', { retry: 4 }, () => {
  const weights = JSON.parse(execFileSync(process.execPath, [SCRIPT, '--json'], { encoding: 'utf8' }));
  const over = Object.entries(LIMITS).flatMap(([call, limits]) =>
    Object.entries(limits).flatMap(([unit, limit]) => {
      const found: number | undefined = weights[call][unit];
      return found === undefined || found <= limit ? [] : [`${call}: ${found} ${unit}, at most ${limit}`];
    }),
  );
  expect(over).toEqual([]);
});
