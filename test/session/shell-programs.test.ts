import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sandboxHere } from '../support/sandbox.ts';
import { compareProgram, openStage, runBesideWriter, type Stage } from '../support/shell-programs.ts';

const here = await sandboxHere();

describe.skipIf(here === undefined)('random shell programs', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.close());

  it('have the same effect in a sandbox as outside it, and can be undone', async () => {
    for (let seed = 1; seed <= 15; seed += 1) await compareProgram(stage, seed);
    expect.hasAssertions();
  });

  it('never lose a byte of another writer', async () => {
    for (let seed = 1; seed <= 5; seed += 1) await runBesideWriter(stage, seed);
    expect.hasAssertions();
  });
});
