import { describe, it } from 'vitest';
import { checkFold } from './fold-run.ts';
import { SCRIBES } from './scribes/all.ts';

const RUNS = 15;

describe('reading a transcript while it grows gives the same result as reading it at once', () => {
  it.each(SCRIBES)(`$name: ${RUNS} random transcripts`, (kind) => checkFold(kind, RUNS));
});
