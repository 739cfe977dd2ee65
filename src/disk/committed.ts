import { fstatSync } from 'node:fs';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { at, type Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import type { DiskContext } from './context.ts';
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
  readonly stamp: Stamp;
  /** The stamp may be that of someone else's bytes, written in the same tick or just after. */
  readonly racy: boolean;
  readonly mode: number;
  /** Where the file that was replaced or removed is now, outside the workspace. */
  readonly displaced?: string;
  readonly notices: readonly Notice[];
}

/** What a published file is known as: by the bytes intended, never by what a later look finds. */
export function committed(
  context: DiskContext,
  place: Place,
  { temp, content }: { readonly temp: TempFile; readonly content: NewContent },
): Committed {
  const stats = fstatSync(temp.fd, { bigint: true });
  const touched = stats.mtimeNs !== temp.mtimeNs || Number(stats.size) !== content.bytes.byteLength;
  return {
    ok: true,
    fingerprint: content.fingerprint ?? fingerprintOf(content.bytes),
    stamp: stampOf(stats),
    racy: touched || context.clock.isRacy(stats, at(place)),
    mode: modeOf(stats),
    notices: [],
  };
}
