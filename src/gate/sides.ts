import type { Snapshot } from '../disk/read.ts';
import { modeOf } from '../disk/stats.ts';
import type { Side } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';

export const ABSENT: Side = { kind: 'absent' };

export function fileSide(fingerprint: Fingerprint, mode: number, kept: boolean): Side {
  return { kind: 'file', fingerprint, mode, kept };
}

/** The side of a file that was read. Its bytes will be kept as an image. */
export function sideOf(snapshot: Snapshot): Side {
  return fileSide(snapshot.fingerprint, modeOf(snapshot.stats), true);
}
