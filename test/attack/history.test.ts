import { describe, it } from 'vitest';
import { checkEdits } from '../history/edit-run.ts';
import { checkFold } from '../history/fold-run.ts';
import { SCRIBES } from '../history/scribes/all.ts';

const RUNS = 10_000;
const EDIT_RUNS = 50_000;

describe('reading a transcript while it grows gives the same result as reading it at once', () => {
  it.each(SCRIBES)(`$name: ${RUNS} random transcripts`, (kind) => checkFold(kind, RUNS));
});

it(`lines known after an edit were all shown or written: ${EDIT_RUNS} random conversations`, () =>
  checkEdits(EDIT_RUNS));
