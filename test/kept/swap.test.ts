import { describe, expect, it } from 'vitest';
import { strongestGuarantee } from '../../src/workspace/pinned.ts';
import { attackPath, type SwapVariant } from '../support/swap-attack.ts';
import { SWAP_OPERATIONS } from '../support/swap-operations.ts';

const TRIES = 500;

// Without the guarantee `walk`, an attacker who swaps folders can win; see LIMITS.md.
describe.skipIf(strongestGuarantee() !== 'walk')('while another process swaps a folder for a link', () => {
  describe.each(SWAP_OPERATIONS)('$name', (operation) => {
    it('never reaches the outside', async () => {
      const tally = await attackPath({ operation, variant: 'folder', code: 'ours', tries: TRIES });
      expect(tally).toMatchObject({ escaped: 0 });
      expect(Math.min(tally.served, tally.refused, tally.swaps)).toBeGreaterThan(0);
    });

    it('reaches the outside with realpath followed by a use of the path', async () => {
      const tally = await attackPath({ operation, variant: 'folder', code: 'naive', tries: TRIES / 4 });
      expect(tally.escaped).toBeGreaterThan(0);
    });
  });

  const read = SWAP_OPERATIONS.filter(({ name }) => name === 'read');
  const variants: readonly SwapVariant[] = ['relative', 'leaf'];
  describe.each(read)('$name', (operation) => {
    it.each(variants)('never reaches the outside by a swapped %s', async (variant) => {
      const tally = await attackPath({ operation, variant, code: 'ours', tries: TRIES });
      expect(tally).toMatchObject({ escaped: 0 });
      expect(Math.min(tally.served, tally.refused, tally.swaps)).toBeGreaterThan(0);
    });

    it("keeps working in the pinned root while the root's name becomes a link", async () => {
      const tally = await attackPath({ operation, variant: 'root', code: 'ours', tries: TRIES });
      expect(tally).toMatchObject({ escaped: 0, refused: 0, served: TRIES });
    });
  });
});
