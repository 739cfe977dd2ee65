import { isStub } from '../judge/facts.ts';
import type { Coverage, LineRange } from '../model/coverage.ts';
import { Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { isRecord } from '../model/record.ts';
import type { How, Sighting, SightingFlags } from '../model/sighting.ts';

/** True for a live sighting: neither a tombstone (deleted file) nor a stub (lost sighting). */
export function counts(sighting: Sighting): boolean {
  return sighting.tombstone !== true && !isStub(sighting);
}

/**
 * True if a sighting can allow a change. This is a live sighting, or the record of a deleted file
 * (tombstone) with bytes that were seen: another program may bring these bytes back.
 */
export function licenses(sighting: Sighting): boolean {
  return counts(sighting) || (sighting.tombstone === true && sighting.seenBefore !== undefined);
}

/**
 * Returns a function that finds a sighting by bytes instead of by name, and converts it to a
 * sighting of the file `key`. If there are several sightings of the same bytes, takes one that
 * shows them whole. Ignores listings, and sightings without lines.
 */
export function sightingsByBytes(
  sightings: readonly Sighting[],
): (bytes: Fingerprint, key: string, atMs: number) => Sighting | undefined {
  const known = new Map<string, Sighting>();
  for (const sighting of sightings) {
    const { fingerprint, coverage, how } = sighting;
    if (fingerprint === undefined || coverage.kind === 'none' || how === 'listing') continue;
    if (known.get(fingerprint.sha256)?.coverage.kind !== 'whole') known.set(fingerprint.sha256, sighting);
  }
  return (bytes, key, atMs) => {
    const found = known.get(bytes.sha256);
    if (found === undefined) return undefined;
    const { coverage, totalLines, flags } = found;
    const place = { key, fingerprint: bytes, stamp: undefined, racy: true } as const;
    return { ...place, coverage, totalLines, flags, how: 'witness', atMs };
  };
}

/**
 * The sightings of a moved file or folder under its new path. A move changes stamps, so the old
 * stamps are marked as unreliable (`racy`), and the next check compares bytes.
 */
export function movedSightings(
  sightings: readonly Sighting[],
  { from, to }: { readonly from: string; readonly to: string },
): Sighting[] {
  return sightings.map((seen) => ({
    ...seen,
    key: `${to}${seen.key.slice(from.length)}`,
    racy: true,
    // Replace `edit` by `write`: merging an edit continues the sighting of the file that was at
    // this path before, but the moved file replaces that file.
    how: seen.how === 'edit' ? 'write' : seen.how,
  }));
}

const VERSION = 1;

const HOWS: ReadonlySet<string> = new Set<How>([
  'read',
  'write',
  'edit',
  'output',
  'cure',
  'listing',
  'history',
  'witness',
]);

/**
 * Exports sightings as JSON text. Omits sightings without a fingerprint: an import could not
 * confirm them.
 */
export function exportSightings(session: string, sightings: readonly Sighting[]): string {
  const exported = sightings
    .filter((sighting) => sighting.fingerprint !== undefined)
    .map(({ key, fingerprint, coverage, totalLines, flags, how, atMs, lost }) => ({
      key,
      fingerprint,
      coverage,
      totalLines,
      flags,
      how,
      atMs,
      lost,
    }));
  return JSON.stringify({ lookfirst: 'sightings', version: VERSION, session, sightings: exported });
}

/**
 * Parses the output of {@link exportSightings}; throws a Fault MISUSE for anything else. The result
 * has no stamps, so that an import must compare hashes.
 */
export function parseSightings(text: string): Sighting[] {
  const value = parse(text);
  if (!isRecord(value) || value['lookfirst'] !== 'sightings')
    throw wrong('the text is not an export of sightings');
  if (value['version'] !== VERSION) throw wrong(`its version is not ${VERSION}`);
  if (!Array.isArray(value['sightings'])) throw wrong('it has no list of sightings');
  return value['sightings'].map((item: unknown, index) => {
    const sighting = sightingOf(item);
    if (sighting === undefined) throw wrong(`its sighting ${index} is malformed`);
    return sighting;
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw wrong('it is not JSON', cause);
  }
}

function sightingOf(value: unknown): Sighting | undefined {
  if (!isRecord(value)) return undefined;
  const { key, fingerprint, totalLines, how, atMs, lost } = value;
  const coverage = coverageOf(value['coverage']);
  const flags = flagsOf(value['flags']);
  if (typeof key !== 'string' || coverage === undefined || flags === undefined) return undefined;
  if (!isRecord(fingerprint) || typeof fingerprint['sha256'] !== 'string') return undefined;
  if (!isCount(fingerprint['size']) || !isHow(how) || typeof atMs !== 'number') return undefined;
  if (totalLines !== undefined && !isCount(totalLines)) return undefined;
  if (lost !== undefined && lost !== 'compacted') return undefined;
  return {
    key,
    fingerprint: { sha256: fingerprint['sha256'], size: fingerprint['size'] },
    stamp: undefined,
    racy: false,
    coverage,
    totalLines,
    flags,
    how,
    atMs,
    ...(lost === undefined ? {} : { lost }),
  };
}

function coverageOf(value: unknown): Coverage | undefined {
  if (!isRecord(value)) return undefined;
  if (value['kind'] === 'whole' || value['kind'] === 'none') return { kind: value['kind'] };
  const ranges: unknown = value['ranges'];
  if (value['kind'] !== 'lines' || !Array.isArray(ranges) || !ranges.every(isRange)) return undefined;
  return { kind: 'lines', ranges: ranges.map(({ from, to }) => ({ from, to })) };
}

function flagsOf(value: unknown): SightingFlags | undefined {
  if (!isRecord(value)) return undefined;
  const { clamped, redacted, notText, unverified } = value;
  if (typeof clamped !== 'boolean' || typeof redacted !== 'boolean') return undefined;
  if (typeof notText !== 'boolean' || typeof unverified !== 'boolean') return undefined;
  return { clamped, redacted, notText, unverified };
}

function isRange(value: unknown): value is LineRange {
  return isRecord(value) && isCount(value['from']) && isCount(value['to']) && value['from'] <= value['to'];
}

function isHow(value: unknown): value is How {
  return typeof value === 'string' && HOWS.has(value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function wrong(why: string, cause?: unknown): Fault {
  return new Fault('MISUSE', `the sightings cannot be imported: ${why}`, { cause });
}

/** Compares hashes to decide whether a sighting's bytes are still current. */
export type Check = (sighting: Sighting) => Promise<boolean>;

/** How many sightings passed a check (`kept`) and how many failed it (`dropped`). */
export interface Checked {
  readonly kept: number;
  readonly dropped: number;
}

export async function confirmed(sightings: readonly Sighting[], check: Check): Promise<Sighting[]> {
  const kept: Sighting[] = [];
  for (const sighting of sightings) if (await check(sighting)) kept.push(sighting);
  return kept;
}

/** One in this many file keys is in the sample that `isSampled` selects. */
export const SAMPLE = 64;

/**
 * True if a key is in a fixed sample of all keys, the same in every process. Many short processes
 * can share work without a counter: a process does the work only for keys in the sample.
 */
export function isSampled(key: string): boolean {
  let sum = 0;
  for (let i = 0; i < key.length; i++) sum = (Math.imul(sum, 31) + key.charCodeAt(i)) | 0;
  // The low bits of the sum depend only on the low bits of the characters, so fold in the high
  // bits.
  return ((sum ^ (sum >>> 16)) & (SAMPLE - 1)) === 0;
}

/** A sighting as it is stored: the states seen before follow from earlier views. */
export function stored({ seenBefore: _derived, ...sighting }: Sighting): Sighting {
  return sighting;
}
