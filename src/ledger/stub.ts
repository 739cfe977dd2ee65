import { NOTHING } from '../model/coverage.ts';
import { type LostReason, NO_FLAGS, type Sighting } from '../model/sighting.ts';

/** A sighting reduced to the reason of its loss, which refusals report. */
export function stubOf(sighting: Sighting, lost: LostReason): Sighting {
  return { ...EMPTY, key: sighting.key, how: sighting.how, atMs: sighting.atMs, lost };
}

/** Records that this session deleted the file. Creating it again then needs no read. */
export function tombstoneOf(key: string, atMs: number): Sighting {
  return { ...EMPTY, key, how: 'write', atMs, tombstone: true };
}

/**
 * Removes the coverage, because the model's context is gone. Keeps the baseline to detect whether
 * the bytes changed.
 */
export function withoutContext(sighting: Sighting, lost: LostReason): Sighting {
  const { refusedContent: _refused, heldBack: _held, seenBefore: _before, ...rest } = sighting;
  return { ...rest, coverage: NOTHING, lost };
}

const EMPTY: Omit<Sighting, 'key' | 'how' | 'atMs'> = {
  fingerprint: undefined,
  stamp: undefined,
  racy: false,
  coverage: NOTHING,
  totalLines: undefined,
  flags: NO_FLAGS,
};
