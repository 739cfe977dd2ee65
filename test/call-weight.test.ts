import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

type Weight = Readonly<
  Record<'files' | 'functions' | 'promises' | 'statements', number> & { systemCalls?: number }
>;

const SCRIPT = join(import.meta.dirname, '../bench/call-weight.mjs');

/** Upper limits of what one warm call of one file costs at durability none. */
const LIMITS: Readonly<Record<string, Partial<Weight>>> = {
  'session write': { files: 77, functions: 435, promises: 45, statements: 14, systemCalls: 87 },
  'session read': { files: 43, functions: 145, promises: 12, statements: 3, systemCalls: 13 },
  'session first read': { files: 46, functions: 170, promises: 12, statements: 4, systemCalls: 21 },
  'proxy edit': { files: 110, functions: 720 },
  'session undo': { files: 75, functions: 535, promises: 111, statements: 18 },
};

it('one call of one file stays as light as it is', () => {
  const weights = JSON.parse(execFileSync(process.execPath, [SCRIPT, '--json'], { encoding: 'utf8' }));
  const over = Object.entries(LIMITS).flatMap(([call, limits]) =>
    Object.entries(limits).flatMap(([unit, limit]) => {
      const found: number | undefined = weights[call][unit];
      return found === undefined || found <= limit ? [] : [`${call}: ${found} ${unit}, at most ${limit}`];
    }),
  );
  expect(over).toEqual([]);
});
