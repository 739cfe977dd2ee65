import { type Coverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { type How, NO_FLAGS, type Sighting, type SightingFlags } from '../model/sighting.ts';

/**
 * A sighting as a JSON array by position: half the size of an object, and parsed in half the time. Rare and future
 * fields are stored by name in the last element. Stamps are decimal text, because JSON numbers would lose their last
 * digits.
 */
type Row = [
  fingerprint: [string, number] | 0,
  stamp: [string, string, string, string, string] | 0,
  racy: 0 | 1,
  coverage: 'whole' | 'none' | number[],
  totalLines: number | null,
  flags: number,
  how: How,
  atMs: number,
  others?: Others,
];

type Common = 'key' | 'fingerprint' | 'stamp' | 'racy' | 'coverage' | 'totalLines' | 'flags' | 'how' | 'atMs';
/** Only plain JSON values. */
type Others = Omit<Sighting, Common>;

const CLAMPED = 1;
const REDACTED = 2;
const NOT_TEXT = 4;
const UNVERIFIED = 8;

/** Serialises a sighting without its key. */
export function sightingText(sighting: Sighting): string {
  const { key: _, fingerprint, stamp, racy, coverage, totalLines, flags, how, atMs, ...others } = sighting;
  const row: Row = [
    fingerprint ? [fingerprint.sha256, fingerprint.size] : 0,
    stamp ? [`${stamp.dev}`, `${stamp.ino}`, `${stamp.size}`, `${stamp.mtimeNs}`, `${stamp.ctimeNs}`] : 0,
    racy ? 1 : 0,
    coverageCell(coverage),
    totalLines ?? null,
    flagBits(flags),
    how,
    atMs,
  ];
  if (hasAny(others)) row.push(others);
  return JSON.stringify(row);
}

/** Parses the text that {@link sightingText} wrote; throws on any other text. */
export function sightingFrom(key: string, text: string): Sighting {
  // The cast is safe: sightingText wrote it, in this or an earlier version. A damaged row fails in JSON.parse or below.
  const [fingerprint, stamp, racy, coverage, totalLines, flags, how, atMs, others] = JSON.parse(text) as Row;
  return {
    key,
    fingerprint: fingerprintFrom(fingerprint),
    stamp: stampFrom(stamp),
    racy: racy === 1,
    coverage: coverageFrom(coverage),
    totalLines: totalLines ?? undefined,
    flags: flags === 0 ? NO_FLAGS : flagsFrom(flags),
    how,
    atMs,
    ...others,
  };
}

function hasAny(others: Others): boolean {
  for (const _ in others) return true;
  return false;
}

function fingerprintFrom(cell: Row[0]): Fingerprint | undefined {
  return cell === 0 ? undefined : { sha256: cell[0], size: cell[1] };
}

function stampFrom(cell: Row[1]): Stamp | undefined {
  if (cell === 0) return undefined;
  const [dev, ino, size, mtimeNs, ctimeNs] = cell;
  return {
    dev: BigInt(dev),
    ino: BigInt(ino),
    size: BigInt(size),
    mtimeNs: BigInt(mtimeNs),
    ctimeNs: BigInt(ctimeNs),
  };
}

function coverageCell(coverage: Coverage): Row[3] {
  return coverage.kind === 'lines' ? coverage.ranges.flatMap(({ from, to }) => [from, to]) : coverage.kind;
}

function coverageFrom(cell: Row[3]): Coverage {
  if (cell === 'whole') return WHOLE;
  if (cell === 'none') return NOTHING;
  const ranges = [];
  for (let i = 0; i + 1 < cell.length; i += 2) ranges.push({ from: cell[i] ?? 0, to: cell[i + 1] ?? 0 });
  return { kind: 'lines', ranges };
}

function flagBits(flags: SightingFlags): number {
  return (
    (flags.clamped ? CLAMPED : 0) |
    (flags.redacted ? REDACTED : 0) |
    (flags.notText ? NOT_TEXT : 0) |
    (flags.unverified ? UNVERIFIED : 0)
  );
}

function flagsFrom(bits: number): SightingFlags {
  return {
    clamped: (bits & CLAMPED) !== 0,
    redacted: (bits & REDACTED) !== 0,
    notText: (bits & NOT_TEXT) !== 0,
    unverified: (bits & UNVERIFIED) !== 0,
  };
}
