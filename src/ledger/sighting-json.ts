import type { Coverage, LineRange } from '../model/coverage.ts';
import { Fault } from '../model/fault.ts';
import { isRecord } from '../model/record.ts';
import type { How, Sighting, SightingFlags } from '../model/sighting.ts';

const VERSION = 1;

const HOWS: ReadonlySet<string> = new Set<How>([
  'read',
  'write',
  'edit',
  'search',
  'cure',
  'listing',
  'history',
  'witness',
]);

/** Exports sightings that have a fingerprint as JSON text; an import could not confirm the others. */
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
 * Parses the output of {@link exportSightings}; throws a Fault MISUSE for anything else. Stamps are
 * not exported: an equal stamp would skip the hash, which an import must check.
 */
export function parseSightings(text: string): Sighting[] {
  const value = parse(text);
  if (!isRecord(value) || value['lookfirst'] !== 'sightings') throw wrong('it is no export of sightings');
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
