import { describe, expect, it } from 'vitest';
import { strongestGuarantee } from '../../src/workspace/pinned.ts';
import { attackTable } from '../support/attack-table.ts';
import { attackPath, type SwapVariant } from '../support/swap-attack.ts';
import { SWAP_OPERATIONS, type SwapOperation } from '../support/swap-operations.ts';

const TRIES = Number(process.env['TRIES'] ?? 200_000);
const NAIVE_TRIES = Math.min(TRIES, 10_000);
const report = attackTable('escapes while a folder is swapped for a link to the outside');

async function attack(operation: SwapOperation, variant: SwapVariant): Promise<void> {
  const naive = await attackPath({ operation, variant, code: 'naive', tries: NAIVE_TRIES });
  const ours = await attackPath({ operation, variant, code: 'ours', tries: TRIES });
  for (const [code, tally] of [
    ['naive', naive],
    ['ours', ours],
  ] as const) {
    report({ operation: operation.name, swapped: variant, code, ...tally });
  }
  expect(ours.escaped).toBe(0);
  expect(ours.tries).toBeGreaterThanOrEqual(TRIES);
  expect(naive.escaped).toBeGreaterThan(0);
}

describe.skipIf(strongestGuarantee() !== 'walk')(`${TRIES} tries each`, () => {
  it.each(SWAP_OPERATIONS)('$name: no escape', (operation) => attack(operation, 'folder'));

  const read = SWAP_OPERATIONS.filter(({ name }) => name === 'read');
  const variants: readonly SwapVariant[] = ['relative', 'leaf', 'root'];
  describe.each(read)('$name', (operation) => {
    it.each(variants)('no escape by a swapped %s', (variant) => attack(operation, variant));
  });
});
