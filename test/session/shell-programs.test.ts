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

  it('do in a sandbox what they do plainly, and are undone', async () => {
    for (let seed = 1; seed <= 15; seed += 1) await compareProgram(stage, seed);
    expect.hasAssertions();
  });

  it('never cost another writer a byte', async () => {
    for (let seed = 1; seed <= 5; seed += 1) await runBesideWriter(stage, seed);
    expect.hasAssertions();
  });
});
