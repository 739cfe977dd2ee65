import { fstatSync } from 'node:fs';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import type { Notice } from '../model/results.ts';
import { fingerprintOf } from './hash.ts';
import { modeOf, stampOf } from './stats.ts';
import type { TempFile } from './temp-file.ts';

/** New bytes and, where the caller has it already, their fingerprint. */
export interface NewContent {
  readonly bytes: Uint8Array;
  readonly fingerprint?: Fingerprint;
}

export interface Committed {
  readonly ok: true;
  readonly fingerprint: Fingerprint;
  /** Proves nothing by itself: someone else may write in the tick of our own writing. */
  readonly stamp: Stamp;
  readonly mode: number;
  /** Where the file that was replaced or removed is now, outside the workspace. */
  readonly displaced?: string;
  readonly notices: readonly Notice[];
}

/** What a published file is known as: by the bytes intended, never by what a later look finds. */
export function committed(temp: TempFile, content: NewContent): Committed {
  const stats = fstatSync(temp.fd, { bigint: true });
  return {
    ok: true,
    fingerprint: content.fingerprint ?? fingerprintOf(content.bytes),
    stamp: stampOf(stats),
    mode: modeOf(stats),
    notices: [],
  };
}
