import type { Snapshot } from '../../disk/read.ts';
import { type Coverage, mergeRanges, NOTHING, rangesOf, WHOLE } from '../../model/coverage.ts';
import type { Delta } from '../../model/delta.ts';
import type { HostWrite } from '../../model/entry.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import { isWithin } from '../../model/path.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { carryCoverage } from '../../text/change.ts';
import { hasUtf16Mark, looksBinary } from '../../text/decode.ts';
import { diffLines } from '../../text/diff.ts';
import { countFileLines } from '../../text/file-lines.ts';
import { countLines } from '../../text/lines.ts';
import { type FoundState, presentSighting } from '../found.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';

/**
 * A planned delta of another program's change, and the state of its path after the program has
 * finished.
 */
export interface EndState {
  readonly delta: Delta;
  readonly now: FoundState;
}

/**
 * A session's knowledge after another program made a change for it: the lines it has seen of each
 * file, and the keys of files it knows to be deleted (tombstones).
 */
export interface KnownAfter {
  readonly sightings: readonly Sighting[];
  readonly tombstones: readonly string[];
}

/**
 * Computes what a session has seen of the files after another program made a change for it: the
 * text that it gave to the program, and the lines that it saw before. Lines that other writers
 * added meanwhile do not count.
 */
export async function knownAfter(
  scene: ShownScene,
  endStates: readonly EndState[],
  { writes, credits }: { readonly writes: readonly HostWrite[]; readonly credits: readonly Sighting[] },
): Promise<KnownAfter> {
  const sightings: Sighting[] = [];
  const tombstones: string[] = [];
  const own = new Set(writes.map(({ key }) => key));
  const created = endStates.flatMap(({ delta: { key, before }, now: { side } }) =>
    !own.has(key) && before.kind === 'absent' && side.kind === 'file' ? [{ key, ...side }] : [],
  );
  sightings.push(...(await scene.knowledge.seenElsewhere(created, scene.world.now())));
  for (const { delta, now } of endStates) {
    const write = writes.find(({ key }) => key === delta.key);
    if (write !== undefined && now.snapshot !== undefined) {
      const credit = credits.find(({ key }) => key === delta.key);
      sightings.push(await seenAfter(scene, { delta, write, credit, snapshot: now.snapshot }));
    } else if (now.side.kind === 'absent' && delta.before.kind !== 'absent') {
      const gone = await goneFrom(scene, delta, endStates);
      sightings.push(...gone.sightings);
      tombstones.push(...gone.tombstones);
    }
  }
  return { sightings, tombstones };
}

interface Written {
  readonly delta: Delta;
  readonly write: HostWrite;
  /**
   * The lines of the file that a notice showed to the session before the change was made; undefined
   * if no notice showed any.
   */
  readonly credit: Sighting | undefined;
  readonly snapshot: Snapshot;
}

async function seenAfter({ world, knowledge }: ShownScene, written: Written): Promise<Sighting> {
  const { delta, write, snapshot } = written;
  const { bytes, fingerprint } = snapshot;
  const before = written.credit ?? (await knowledge.recall(delta.key));
  world.baselines.remember(fingerprint, bytes);
  const kept = write.text === 'whole' ? NO_FLAGS : (before?.flags ?? NO_FLAGS);
  return presentSighting(world, snapshot, {
    key: delta.key,
    coverage: await coverageAfter(world, written, before),
    totalLines: countFileLines(bytes),
    flags: { ...kept, notText: looksBinary(bytes) },
    how: 'witness',
  });
}

async function coverageAfter(
  world: World,
  written: Written,
  before: Sighting | undefined,
): Promise<Coverage> {
  const { delta, write, snapshot } = written;
  const expected = write.text === 'whole' || write.text === 'parts' ? fileOf(delta.after) : undefined;
  // If the bytes are as expected, comparing lines is unnecessary; for a large file it may be impossible.
  if (write.text === 'whole' && expected !== undefined && sameFingerprint(expected, snapshot.fingerprint))
    return WHOLE;
  const given = expected === undefined ? undefined : await world.baselines.recall(expected);
  const own = await ownCoverage(world, { ...written, given, before });
  if (given === undefined) return own;
  return carried(joined(own, write.known), given, { to: snapshot.bytes, addedAre: 'unseen' });
}

/** The lines of both. A session that has seen only some lines never counts as having seen the whole file. */
function joined(own: Coverage, known: Coverage | undefined): Coverage {
  if (known?.kind !== 'lines' || own.kind === 'whole') return known?.kind === 'whole' ? known : own;
  return { kind: 'lines', ranges: mergeRanges([...known.ranges, ...rangesOf(own, 0)]) };
}

/**
 * The lines of `given` that count as seen. `given` is the content that the session's change alone
 * would produce, without the changes of other writers. If `given` is undefined, the result is about
 * the file's present bytes.
 */
async function ownCoverage(
  world: World,
  {
    delta,
    write,
    snapshot,
    given,
    before,
  }: Written & { given: Uint8Array | undefined; before: Sighting | undefined },
): Promise<Coverage> {
  if (write.text === 'whole' || delta.before.kind === 'absent') return given === undefined ? NOTHING : WHOLE;
  const then = fileOf(delta.before);
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

/**
 * The lines of `to` that count as seen, given the lines seen of `from`. Line endings do not count
 * as a difference: no read shows them.
 */
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
    ...hunk,
    // An edit may have replaced only a part of a line. With `all`, the new lines count as seen only
    // if the session had seen every line that they replace.
    mixed: 'all' as const,
  }));
  return carryCoverage(coverage, { changes, addedAre, totalLines: countLines(old) });
}

function withoutReturns(bytes: Uint8Array): Buffer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.includes('\r\n')
    ? Buffer.from(buffer.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
    : buffer;
}

function fileOf(side: Delta['after']): Fingerprint | undefined {
  return side.kind === 'file' ? side.fingerprint : undefined;
}

/**
 * A session's knowledge after a path is gone. If the file moved, the lines seen of it move to the
 * new path. Otherwise the session knows that the file is deleted.
 */
async function goneFrom(
  { knowledge }: ShownScene,
  delta: Delta,
  endStates: readonly EndState[],
): Promise<KnownAfter> {
  const from = delta.key;
  const isArrival = (one: EndState): boolean =>
    one.delta.movedFrom?.key === from && one.now.side.kind !== 'absent';
  const movedTo = endStates.find(isArrival)?.delta.key;
  if (movedTo === undefined) {
    const seen = await knowledge.recall(from);
    return { sightings: [], tombstones: seen === undefined ? [] : [from] };
  }
  const moved = (await knowledge.all()).filter(({ key }) => isWithin(key, from));
  // Set `racy`, so that later verdicts compare the bytes: after the move, the files' recorded
  // stamps are out of date.
  const there = moved.map((seen) => ({
    ...seen,
    key: `${movedTo}${seen.key.slice(from.length)}`,
    racy: true,
  }));
  return { sightings: there, tombstones: moved.map(({ key }) => key) };
}
