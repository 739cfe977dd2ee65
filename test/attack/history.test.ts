import { describe, it } from 'vitest';
import { checkFold } from '../history/fold-run.ts';
import { SCRIBES } from '../history/scribes/all.ts';

const RUNS = 10_000;

describe('a transcript that grows gives what it gives at once', () => {
  it.each(SCRIBES)(`$name: ${RUNS} random transcripts`, (kind) => checkFold(kind, RUNS));
});
