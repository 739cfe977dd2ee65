import { describe, it } from 'vitest';
import { checkFold } from './fold-run.ts';
import { SCRIBES } from './scribes/all.ts';

const RUNS = 200;

describe('a transcript that grows gives what it gives at once', () => {
  it.each(SCRIBES)(`$name: ${RUNS} random transcripts`, (kind) => checkFold(kind, RUNS));
});
