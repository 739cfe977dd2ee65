import { NOTHING } from '../model/coverage.ts';
import { type LostReason, NO_FLAGS, type Sighting } from '../model/sighting.ts';

/** Nothing but the reason: the session no longer knows the file, and its refusal can say why. */
export function stubOf(sighting: Sighting, lost: LostReason): Sighting {
  return { ...EMPTY, key: sighting.key, how: sighting.how, atMs: sighting.atMs, lost };
}

/** This session deleted the file; making it again needs nothing. */
export function tombstoneOf(key: string, atMs: number): Sighting {
  return { ...EMPTY, key, how: 'write', atMs, tombstone: true };
}

/** Out of the model's context; the baseline stays, to tell whether the bytes are still the same. */
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
