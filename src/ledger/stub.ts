import { isStub } from '../judge/knowledge.ts';
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

interface Room {
  readonly max: number;
  /** Sightings about to be written; they are never evicted. */
  readonly keep: ReadonlyMap<string, Sighting>;
  /** How many sightings in `keep` are new. */
  readonly added: number;
}

interface Evicted {
  /** Stubs that replace the evicted sightings. */
  readonly stubs: readonly Sighting[];
  /** Keys of the oldest stubs and tombstones, which are deleted without a trace. */
  readonly forgotten: readonly string[];
  /** The number of live sightings afterwards. */
  readonly live: number;
}

/**
 * Chooses the oldest sightings to evict, so that at most `max` are live. Evicts a tenth more, so
 * that the next ones fit without another eviction. Up to `max` stubs and tombstones are kept in
 * addition.
 */
export function evict(all: readonly Sighting[], room: Room): Evicted {
  const oldestFirst = [...all].sort((a, b) => a.atMs - b.atMs || (a.key < b.key ? -1 : 1));
  const live = oldestFirst.filter((sighting) => !isGone(sighting));
  const wanted = Math.max(1, Math.floor(room.max * 0.9));
  const surplus = Math.max(0, live.length + room.added - wanted);
  const victims = live.filter((sighting) => !room.keep.has(sighting.key)).slice(0, surplus);

  const gone = oldestFirst.filter((sighting) => isGone(sighting) && !room.keep.has(sighting.key));
  const tooMany = Math.max(0, gone.length + victims.length - room.max);
  return {
    stubs: victims.map((sighting) => stubOf(sighting, 'evicted')),
    forgotten: gone.slice(0, tooMany).map((sighting) => sighting.key),
    live: live.length + room.added - victims.length,
  };
}

function isGone(sighting: Sighting): boolean {
  return sighting.tombstone === true || isStub(sighting);
}
