import { expect, it } from 'vitest';
import { coverageOf } from '../support/coverage.ts';
import { REPLAYED } from '../support/replayed-client.ts';
import { rounds } from '../support/rounds.ts';

/** `npm run attack` replays longer sessions. */
const CALLS = rounds(4, 120);
const MODES = [
  { mode: 'default', shellShare: 0.25 },
  { mode: 'unattended', shellShare: 0.5 },
] as const;
const RUNS = REPLAYED.flatMap((client, at) =>
  MODES.map((mode, index) => ({ client, ...mode, first: 4 * at + 2 * index })),
);

it.each(RUNS)(
  '$client, $mode: at least 99 % of file mutations are judged, recorded and undoable',
  { timeout: CALLS * 10_000 },
  async ({ client, first, ...mode }) => {
    const found = await coverageOf(client, { ...mode, calls: CALLS, seed: first, first });
    const { mutations, judged, recorded, undone, ignored } = found;
    console.log(
      `${client}, ${mode.mode}: ${mutations} mutations, judged ${judged}, recorded ${recorded}, undone ${undone}, besides ${ignored} of files that git ignores`,
    );
    expect(found).toMatchObject({ missed: [], refused: [] });
    expect(mutations).toBeGreaterThanOrEqual(CALLS);
    expect(Math.min(judged, recorded, undone) / mutations).toBeGreaterThanOrEqual(0.99);
  },
);
