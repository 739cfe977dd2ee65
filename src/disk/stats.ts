import type { BigIntStats } from 'node:fs';
import type { Stamp } from '../model/fingerprint.ts';
import type { FileKind } from '../model/path.ts';

export function stampOf(stats: BigIntStats): Stamp {
  return { dev: stats.dev, ino: stats.ino, size: stats.size, mtimeNs: stats.mtimeNs, ctimeNs: stats.ctimeNs };
}

export function kindOf(
  stats: Pick<BigIntStats, 'isFile' | 'isDirectory' | 'isSymbolicLink' | 'isFIFO' | 'isSocket'>,
): FileKind {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isFIFO()) return 'fifo';
  return stats.isSocket() ? 'socket' : 'device';
}

/** Permission bits, including setuid, setgid and sticky. */
export function modeOf(stats: BigIntStats): number {
  return Number(stats.mode) & 0o7777;
}

/**
 * True if the mode grants write permission to no user. Checks the bits, not access(2): root can
 * write everything, but should not.
 */
export function isReadOnly(stats: BigIntStats): boolean {
  return (Number(stats.mode) & 0o222) === 0;
}
