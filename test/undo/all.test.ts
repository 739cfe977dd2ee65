import { it } from 'vitest';
import { workAndUndoAll } from '../support/undo-all.ts';

const SEEDS = Array.from({ length: 3 }, (_, index) => index + 1);

it.each(SEEDS)(
  'the journal describes random work of three sessions, and an undo restores the exact tree (%d)',
  (seed) => workAndUndoAll(seed, 60).then(() => undefined),
);
