import { it } from 'vitest';
import { workAndUndoAll } from './undo-all.ts';

const SEEDS = Array.from({ length: 25 }, (_, index) => index + 1);

it.each(SEEDS)(
  'random work of three sessions is told by the journal and taken back to the last bit (%d)',
  (seed) => workAndUndoAll(seed, 60).then(() => undefined),
);
