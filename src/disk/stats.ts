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

/** Permission bits, setuid, setgid and sticky included. */
export function modeOf(stats: BigIntStats): number {
  return Number(stats.mode) & 0o7777;
}

/** No one may write it. Asked of the bits, not of the system: root can write everything and should not. */
export function isReadOnly(stats: BigIntStats): boolean {
  return (Number(stats.mode) & 0o222) === 0;
}
