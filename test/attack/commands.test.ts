import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FEW_FILES, killRuns, MANY_FILES } from '../support/killed-run.ts';
import { sandboxHere } from '../support/sandbox.ts';
import { compareProgram, openStage, runBesideWriter, type Stage } from '../support/shell-programs.ts';
import { scratch } from '../support/tree.ts';

const here = await sandboxHere();

describe.skipIf(here === undefined)('200 random shell programs', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.close());

  it('have the same effect in a sandbox as outside it, and can be undone', async () => {
    for (let seed = 100; seed < 300; seed += 1) await compareProgram(stage, seed);
    expect.hasAssertions();
  });

  it('never lose a byte of another writer', async () => {
    for (let seed = 100; seed < 160; seed += 1) await runBesideWriter(stage, seed);
    expect.hasAssertions();
  });
});

describe.skipIf(here === undefined)('a command that is killed in the middle of its commit', () => {
  it.each([
    ['few', FEW_FILES],
    ['many', MANY_FILES],
  ])('leaves the workspace untouched or committed: %s files', async (_what, command) => {
    const places = scratch();
    writeFileSync(join(places.root, 'a.txt'), 'one\n');
    const seen = await killRuns(places, { rounds: 60, command });
    // Control: the process was killed before the commit in some rounds, and after it in others.
    expect(Math.min(seen.untouched, seen.committed)).toBeGreaterThan(0);
  });
});
