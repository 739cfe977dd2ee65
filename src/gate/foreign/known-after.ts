import type { Snapshot } from '../../disk/read.ts';
import { carryCoverage } from '../../ledger/carry-coverage.ts';
import { type Coverage, NOTHING, WHOLE } from '../../model/coverage.ts';
import type { Effect, ForeignWrite } from '../../model/entry.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { countLines } from '../../text/byte-lines.ts';
import { diffLines } from '../../text/diff.ts';
import { hasUtf16Mark, looksBinary } from '../../text/unicode.ts';
import type { FoundSide } from '../side-at.ts';
import type { World } from '../world.ts';
import type { Scene } from './shown.ts';

/** An announced effect, and what is there once the program is done. */
export interface Turnout {
  readonly effect: Effect;
  readonly now: FoundSide;
}

/** What a session knows after a change that another program made for it. */
export interface KnownAfter {
  readonly sightings: readonly Sighting[];
  readonly tombstones: readonly string[];
}

/**
 * What a session knows of the files once another program has made its change: the text that the caller gave, as far as it
 * is there, and what the session had seen before. Lines that someone else put there meanwhile do not count as seen.
 */
export async function knownAfter(
  scene: Scene,
  turnouts: readonly Turnout[],
  { writes, credits }: { readonly writes: readonly ForeignWrite[]; readonly credits: readonly Sighting[] },
): Promise<KnownAfter> {
  const sightings: Sighting[] = [];
  const tombstones: string[] = [];
  for (const { effect, now } of turnouts) {
    const write = writes.find(({ key }) => key === effect.key);
    if (write !== undefined && now.snapshot !== undefined) {
      const credit = credits.find(({ key }) => key === effect.key);
      sightings.push(await seenAfter(scene, { effect, write, credit, snapshot: now.snapshot }));
    } else if (now.side.kind === 'absent' && effect.before.kind !== 'absent') {
      const gone = await goneFrom(scene, effect, turnouts);
      sightings.push(...gone.sightings);
      tombstones.push(...gone.tombstones);
    }
  }
  return { sightings, tombstones };
}

interface Written {
  readonly effect: Effect;
  readonly write: ForeignWrite;
  /** What a notice of the announcement showed of the file. */
  readonly credit: Sighting | undefined;
  readonly snapshot: Snapshot;
}

async function seenAfter({ world, ledger }: Scene, written: Written): Promise<Sighting> {
  const { effect, write, snapshot } = written;
  const { bytes, fingerprint, stamp, racy } = snapshot;
  const before = written.credit ?? (await ledger.recall(effect.key));
  world.baselines.remember(fingerprint, bytes);
  const kept = write.text === 'whole' ? NO_FLAGS : (before?.flags ?? NO_FLAGS);
  return {
    key: effect.key,
    fingerprint,
    stamp,
    racy,
    coverage: await coverageAfter(world, written, before),
    totalLines: countLines(bytes),
    flags: { ...kept, notText: looksBinary(bytes) },
    how: 'witness',
    atMs: world.now(),
  };
}

async function coverageAfter(
  world: World,
  written: Written,
  before: Sighting | undefined,
): Promise<Coverage> {
  const { effect, write, snapshot } = written;
  const expected = write.text === 'whole' || write.text === 'parts' ? fileOf(effect.after) : undefined;
  // Bytes as expected need no comparison of lines, and a file may be too large for one.
  if (write.text === 'whole' && expected !== undefined && sameFingerprint(expected, snapshot.fingerprint))
    return WHOLE;
  const given = expected === undefined ? undefined : await world.baselines.recall(expected);
  const own = await ownCoverage(world, { ...written, given, before });
  return given === undefined ? own : carried(own, given, { to: snapshot.bytes, addedAre: 'unseen' });
}

/** What is seen of the bytes that the caller's text makes of the file; if they are not known, of the bytes that are there. */
async function ownCoverage(
  world: World,
  {
    effect,
    write,
    snapshot,
    given,
    before,
  }: Written & { given: Uint8Array | undefined; before: Sighting | undefined },
): Promise<Coverage> {
  if (write.text === 'whole' || effect.before.kind === 'absent') return given === undefined ? NOTHING : WHOLE;
  const then = fileOf(effect.before);
  const base = before?.fingerprint;
  if (before === undefined || then === undefined || base === undefined || !sameFingerprint(base, then))
    return NOTHING;
  const baseline = await world.baselines.recall(then);
  return baseline === undefined
    ? NOTHING
    : carried(before.coverage, baseline, {
        to: given ?? snapshot.bytes,
        addedAre: write.text === 'command' ? 'unseen' : 'seen',
      });
}

/** A coverage of some bytes, carried over to others. Line endings do not count as a difference: no read shows them. */
function carried(
  coverage: Coverage,
  from: Uint8Array,
  { to, addedAre }: { readonly to: Uint8Array; readonly addedAre: 'seen' | 'unseen' },
): Coverage {
  if (Buffer.compare(from, to) === 0) return coverage;
  // UTF-16 has newline bytes inside other characters, so its lines cannot be compared as bytes.
  if (hasUtf16Mark(from) || hasUtf16Mark(to)) return NOTHING;
  const old = withoutReturns(from);
  const changes = diffLines(old, withoutReturns(to)).hunks.map((hunk) => ({
    from: hunk.beforeStart + 1,
    removed: hunk.beforeEnd - hunk.beforeStart,
    added: hunk.afterEnd - hunk.afterStart,
  }));
  return carryCoverage(coverage, { changes, addedAre, totalLines: countLines(old) });
}

function withoutReturns(bytes: Uint8Array): Buffer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.includes('\r\n')
    ? Buffer.from(buffer.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
    : buffer;
}

function fileOf(side: Effect['after']): Fingerprint | undefined {
  return side.kind === 'file' ? side.fingerprint : undefined;
}

/** Sightings of something that is gone: they go with it if it was moved, otherwise a tombstone stays. */
async function goneFrom(
  { ledger }: Scene,
  effect: Effect,
  turnouts: readonly Turnout[],
): Promise<KnownAfter> {
  const from = effect.key;
  const { movedTo } = effect;
  const arrived = turnouts.some((one) => one.effect.key === movedTo && one.now.side.kind !== 'absent');
  if (movedTo === undefined || !arrived) {
    const seen = await ledger.recall(from);
    return { sightings: [], tombstones: seen === undefined ? [] : [from] };
  }
  const moved = (await ledger.all()).filter(({ key }) => key === from || key.startsWith(`${from}/`));
  // The bytes decide whether they still count: the stamps have changed with the names.
  const there = moved.map((seen) => ({
    ...seen,
    key: `${movedTo}${seen.key.slice(from.length)}`,
    racy: true,
  }));
  return { sightings: there, tombstones: moved.map(({ key }) => key) };
}
