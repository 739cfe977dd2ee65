import { fstatSync } from 'node:fs';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOf } from './hash.ts';
import { modeOf, stampOf } from './stats.ts';
import type { Staged, TempFile } from './temp-file.ts';

/** Writing and comparing so much takes about as long as a tick of the clock. */
const WORTH_ASKING_BYTES = 1n << 19n;

/** New bytes and, where the caller has it already, their fingerprint. */
export interface NewContent {
  readonly bytes: Uint8Array;
  readonly fingerprint?: Fingerprint;
  /** The file that already holds them beside the target. */
  readonly staged?: Staged;
}

export interface Committed {
  readonly ok: true;
  readonly fingerprint: Fingerprint;
  readonly stamp: Stamp;
  /** The stamp may be that of someone else's bytes. */
  readonly racy: boolean;
  readonly mode: number;
  /** Where the file that was replaced or removed is now, outside the workspace. */
  readonly displaced?: string;
  readonly notices: readonly Notice[];
}

/**
 * Ask it just before a file is published: whether someone who writes into it then could leave it the time of our own
 * writing. Of little content that was not synced it is taken to be so, for the clock has hardly moved on.
 */
export function mayHideWrites(context: DiskContext, { dir }: Place, { stats }: TempFile): boolean {
  const quick = context.durability === 'none' && stats.size < WORTH_ASKING_BYTES;
  return quick || context.clock.isRacy(stats, `${dir.prefix}/.`);
}

/** What a published file is known as: by the bytes intended, never by what a later look finds. */
export function committed(
  temp: TempFile,
  { content, hidesWrites }: { readonly content: NewContent; readonly hidesWrites: boolean },
): Committed {
  const stats = fstatSync(temp.fd, { bigint: true });
  return {
    ok: true,
    fingerprint: content.fingerprint ?? fingerprintOf(content.bytes),
    stamp: stampOf(stats),
    racy: hidesWrites || stats.mtimeNs !== temp.stats.mtimeNs || stats.size !== temp.stats.size,
    mode: modeOf(stats),
    notices: [],
  };
}
